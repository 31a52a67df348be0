import { driverReportEdition } from '../edition.ts';
import {
  bytes,
  cameraDate,
  cameraTime,
  clockTime,
  countOf,
  type Field,
  fixedText,
  inEditions,
  listToEnd,
  optionalTail,
  remainingBytes,
  text8,
  u8,
  u16,
  u32,
  when,
} from '../fields/index.ts';
import { canItem } from '../fields/lists.ts';
import { defineMessage } from '../message.ts';

/** 0x8700: query the driving recorder (GB/T 19056). */
export const recorderDataRequest = defineMessage({
  id: 0x8700,
  name: 'recorderDataRequest',
  from: 'platform',
  reference: 'JT/T 808-2013 table 70',
  responseIds: [0x0700],
  body: { command: u8({ hexDigits: 2 }), data: remainingBytes() },
});

/** 0x0700: data of the driving recorder. */
export const recorderDataUpload = defineMessage({
  id: 0x0700,
  name: 'recorderDataUpload',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 71',
  body: { replySerial: u16(), command: u8({ hexDigits: 2 }), data: remainingBytes() },
});

/** 0x8701: set the driving recorder. */
export const recorderParameters = defineMessage({
  id: 0x8701,
  name: 'recorderParameters',
  from: 'platform',
  reference: 'JT/T 808-2013 table 72',
  responseIds: [0x0001],
  body: { command: u8({ hexDigits: 2 }), data: remainingBytes() },
});

/** 0x0701: electronic waybill. Some vendors send command results in it. */
export const waybillReport = defineMessage({
  id: 0x0701,
  name: 'waybillReport',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 73',
  responseIds: [0x8001],
  body: { length: countOf('content', u32()), content: remainingBytes() },
});

/** 1 card in, 2 card out; any other value is the length of the 2011 name. */
const cardStatus: Field<number> = { ...u8(), shape: { kind: 'integer', min: 1, max: 2 } };

/** 0x8702: query the driver. */
export const queryDriver = defineMessage({
  id: 0x8702,
  name: 'queryDriver',
  from: 'platform',
  reference: 'JT/T 808-2013 8.45',
  editions: ['2013', '2019'],
  responseIds: [0x0702],
  body: {},
});

/**
 * 0x0702: driver card inserted or removed; also the response to 0x8702. Only the fields that the length allows are
 * present: a removed card ends after the time, an unreadable card after the result. 2019 fields also occur with the
 * short header.
 */
export const driverReport = defineMessage({
  id: 0x0702,
  name: 'driverReport',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 74',
  responseIds: [0x8001],
  layoutOf: driverReportEdition,
  body: {
    status: inEditions(['2013', '2019'], cardStatus), //       1 card in, 2 card out
    time: inEditions(['2013', '2019'], cameraTime()),
    cardReadResult: optionalTail(u8()), //                     0 read, 1 key, 2 locked, 3 pulled out, 4 checksum
    driverName: optionalTail(text8()),
    certificateNo: optionalTail(fixedText(20), 20),
    issuer: optionalTail(text8()),
    validUntil: optionalTail(cameraDate(), 4),
    idCardNo: optionalTail(fixedText(20), 20), // 2019
    faceMatch: optionalTail(u8(), 21), // extension that some units send
    uid: when((scope) => scope.body['faceMatch'] !== undefined, fixedText(20)),
  },
  layouts: {
    '2011': { driverName: text8(), idCardNo: fixedText(20), certificateNo: fixedText(40), issuer: text8() },
  },
});

/** 0x0705: frames of the CAN bus. */
export const canData = defineMessage({
  id: 0x0705,
  name: 'canData',
  from: 'terminal',
  reference: 'JT/T 808-2013 tables 78 and 79',
  editions: ['2013', '2019'],
  responseIds: [0x8001],
  body: { count: countOf('items', u16()), receiveTime: clockTime(), items: listToEnd(canItem()) },
});

/** Transparent data. 2011 places the total length and the length of this part before it. */
const passthrough = {
  type: u8({ hexDigits: 2 }), // 0x00 GNSS detail, 0x0B IC card, 0x41/0x42 serial 1/2, 0xF0-0xFF custom; T/JSATL 12: 0xF7, 0xF8
  totalLength: inEditions(['2011'], u32()),
  length: inEditions(['2011'], u16()),
  data: remainingBytes(),
};

/** 0x8900: transparent data to a peripheral. */
export const downlinkPassthrough = defineMessage({
  id: 0x8900,
  name: 'downlinkPassthrough',
  from: 'platform',
  reference: 'JT/T 808-2013 tables 91 and 92',
  responseIds: [0x0001],
  body: passthrough,
});

/** 0x0900: transparent data from a peripheral. Some terminals hold back their locations until it is acknowledged. */
export const uplinkPassthrough = defineMessage({
  id: 0x0900,
  name: 'uplinkPassthrough',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 93',
  responseIds: [0x8001],
  body: passthrough,
});

/** 0x0901: gzip data. */
export const compressedData = defineMessage({
  id: 0x0901,
  name: 'compressedData',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 94',
  responseIds: [0x8001],
  body: { length: countOf('data', u32()), data: remainingBytes() },
});

const rsaKey: { e: Field<number>; n: Field<Buffer> } = { e: u32(), n: bytes(128) };

/** 0x8A00: the platform's RSA key. */
export const platformRsaKey = defineMessage({
  id: 0x8a00,
  name: 'platformRsaKey',
  from: 'platform',
  reference: 'JT/T 808-2013 table 95',
  responseIds: [0x0a00],
  body: rsaKey,
});

/** 0x0A00: the terminal's RSA key. */
export const terminalRsaKey = defineMessage({
  id: 0x0a00,
  name: 'terminalRsaKey',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 96',
  body: rsaKey,
});
