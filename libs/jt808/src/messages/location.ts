import { countOf, inEditions, u8, u16, u32, whenField } from '../fields/index.ts';
import { controlItems } from '../fields/lists.ts';
import { batchItems, locationBaseBytes, locationFields } from '../fields/location.ts';
import { defineMessage } from '../message.ts';

/** 0x0200: location report. A body below 28 bytes is rejected with result 2. */
export const locationReport = defineMessage({
  id: 0x0200,
  name: 'locationReport',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 23',
  responseIds: [0x8001],
  body: locationFields,
});

/** 0x8201: query the location. */
export const queryLocation = defineMessage({
  id: 0x8201,
  name: 'queryLocation',
  from: 'platform',
  reference: 'JT/T 808-2013 8.19',
  responseIds: [0x0201],
  body: {},
});

/** 0x0201: location on request. 2011 has no reply serial. */
export const queryLocationResponse = defineMessage({
  id: 0x0201,
  name: 'queryLocationResponse',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 33',
  layoutOf: (body, edition) => (edition === '2013' && body.length < locationBaseBytes + 2 ? '2011' : edition),
  body: { replySerial: inEditions(['2013', '2019'], u16()), ...locationFields },
});

/** 0x8202: temporary tracking. */
export const trackControl = defineMessage({
  id: 0x8202,
  name: 'trackControl',
  from: 'platform',
  reference: 'JT/T 808-2013 table 34',
  responseIds: [0x0001],
  body: {
    intervalS: u16(), // 0 = stop, nothing follows
    validityS: whenField('intervalS', (interval) => interval !== 0, u32()),
  },
});

/** 0x8203: a person has confirmed the alarm. */
export const confirmAlarm = defineMessage({
  id: 0x8203,
  name: 'confirmAlarm',
  from: 'platform',
  reference: 'JT/T 808-2013 table 35',
  editions: ['2013', '2019'],
  responseIds: [0x0001],
  body: {
    alarmSerial: u16(), // serial of the alarm message, 0 = all of the type
    alarmTypes: u32(), //  bits 0, 3, 20, 21, 22, 27, 28
  },
});

/** 0x8204: link detection. The right probe for whether the terminal is awake; 2019 only. */
export const linkDetection = defineMessage({
  id: 0x8204,
  name: 'linkDetection',
  from: 'platform',
  reference: 'JT/T 808-2019 chapter 8',
  editions: ['2019'],
  responseIds: [0x0001],
  body: {},
});

/** 0x0704: batch of locations. An invalid item is left out. Catch-up data must not raise live alarms. */
export const locationBatch = defineMessage({
  id: 0x0704,
  name: 'locationBatch',
  from: 'terminal',
  reference: 'JT/T 808-2013 tables 76 and 77',
  editions: ['2013', '2019'],
  responseIds: [0x8001],
  body: {
    count: countOf('items', u16()),
    locationType: u8(), // 0 normal batch, 1 blind-area catch-up
    items: batchItems(),
  },
});

/**
 * 0x8500: vehicle control. Doors: 2011 and 2013 flag 0 unlock, 1 lock; 2019 item 0 lock, 1 open, the opposite sense.
 */
export const vehicleControl = defineMessage({
  id: 0x8500,
  name: 'vehicleControl',
  from: 'platform',
  reference: 'JT/T 808-2013 table 52',
  responseIds: [0x0500, 0x0001],
  body: {
    controlFlags: inEditions(['2011', '2013'], u8()),
    items: inEditions(['2019'], controlItems()),
  },
});

/** 0x0500: location after a vehicle control. The status bits show whether it succeeded. */
export const vehicleControlResponse = defineMessage({
  id: 0x0500,
  name: 'vehicleControlResponse',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 54',
  body: { replySerial: u16(), ...locationFields },
});
