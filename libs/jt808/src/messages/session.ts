import { registrationEdition } from '../edition.ts';
import {
  byEdition,
  cameraTime,
  fixedText,
  fixedTextTail,
  inEditions,
  optionalTail,
  text,
  text8,
  u8,
  u16,
  whenField,
} from '../fields/index.ts';
import { packageIds } from '../fields/lists.ts';
import { defineMessage } from '../message.ts';

/** 0x0001: terminal general response. It is never acknowledged itself. */
export const terminalGeneralResponse = defineMessage({
  id: 0x0001,
  name: 'terminalGeneralResponse',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 4',
  body: {
    replySerial: u16(),
    replyId: u16({ hexDigits: 4 }),
    result: u8(), // 0 success, 1 failure, 2 message incorrect, 3 not supported
  },
});

/** 0x8001: platform general response. */
export const platformGeneralResponse = defineMessage({
  id: 0x8001,
  name: 'platformGeneralResponse',
  from: 'platform',
  reference: 'JT/T 808-2013 table 5',
  body: {
    replySerial: u16(),
    replyId: u16({ hexDigits: 4 }),
    result: u8(), // as 0x0001, and 4 = alarm handling confirmed (2013+)
  },
});

const formatVendorBytes = (out: Record<string, unknown>, body: Readonly<Record<string, unknown>>): void => {
  const { trailing } = body;
  if (Buffer.isBuffer(trailing)) out['vendor_hex'] = trailing.toString('hex').toUpperCase();
};

/** 0x0002: heartbeat. Trackers append data of their own (battery, signal), which is preserved as `trailing`. */
export const terminalHeartbeat = defineMessage({
  id: 0x0002,
  name: 'terminalHeartbeat',
  from: 'terminal',
  reference: 'JT/T 808-2013 8.3',
  responseIds: [0x8001],
  body: {},
  format: formatVendorBytes,
});

/** 0x0003: log-out, which cancels the registration. 2011 prints 0x0101 in appendix B, and 0x0003 in its text. */
export const terminalLogout = defineMessage({
  id: 0x0003,
  name: 'terminalLogout',
  from: 'terminal',
  reference: 'JT/T 808-2013 8.7',
  responseIds: [0x8001],
  body: {},
  format: formatVendorBytes,
});

/** 0x0004: query the server's time. */
export const queryServerTime = defineMessage({
  id: 0x0004,
  name: 'queryServerTime',
  from: 'terminal',
  reference: 'JT/T 808-2019 8.4',
  editions: ['2019'],
  responseIds: [0x8004],
  body: {},
});

/** 0x8004: the server's time, in UTC and not in GMT+8. Has no reply serial. */
export const serverTimeResponse = defineMessage({
  id: 0x8004,
  name: 'serverTimeResponse',
  from: 'platform',
  reference: 'JT/T 808-2019 8.5',
  editions: ['2019'],
  body: { timeUtc: cameraTime('Z') },
});

/**
 * 0x8003: the platform requests missing parts. There is no response: the parts are sent again with their old serials.
 */
export const platformRetransmitRequest = defineMessage({
  id: 0x8003,
  name: 'platformRetransmitRequest',
  from: 'platform',
  reference: 'JT/T 808-2013 table 6',
  editions: ['2013', '2019'],
  body: { originalSerial: u16(), packageIds: packageIds() }, // originalSerial is the serial of part 1
});

/**
 * 0x0005: the terminal requests missing parts. There is no response: the parts are sent again with their old serials.
 */
export const terminalRetransmitRequest = defineMessage({
  id: 0x0005,
  name: 'terminalRetransmitRequest',
  from: 'terminal',
  reference: 'JT/T 808-2019 chapter 8',
  editions: ['2019'],
  body: { originalSerial: u16(), packageIds: packageIds() },
});

/**
 * 0x0100: registration. The widths of the texts differ between all editions; a body below 37 bytes has the 2011 layout.
 */
export const terminalRegistration = defineMessage({
  id: 0x0100,
  name: 'terminalRegistration',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 7',
  responseIds: [0x8100],
  layoutOf: registrationEdition,
  body: {
    provinceId: u16(), // GB/T 2260 first two digits, 0 = default
    cityId: u16(), //     GB/T 2260 last four digits
    manufacturerId: byEdition({ '2011': fixedText(5), '2013': fixedText(5), '2019': fixedText(11) }),
    terminalModel: byEdition({
      '2011': fixedText(8, 'spaceBehind'),
      '2013': fixedText(20),
      '2019': fixedText(30, 'nulInFront'),
    }),
    terminalId: byEdition({ '2011': fixedText(7), '2013': fixedText(7), '2019': fixedText(30) }),
    plateColor: u8(), // 0 none (then the plate is the VIN), 1 blue, 2 yellow, 3 black, 4 white, 5 green (2019), 9 other
    plateNo: text(),
  },
});

/** 0x8100: response to the registration. The terminal sends the code in 0x0102 on every connection; use short ASCII. */
export const registrationResponse = defineMessage({
  id: 0x8100,
  name: 'registrationResponse',
  from: 'platform',
  reference: 'JT/T 808-2013 table 8',
  body: {
    replySerial: u16(),
    result: u8(), // 0 success, 1 vehicle already registered, 2 no such vehicle, 3 terminal already registered, 4 no such terminal
    authCode: whenField('result', (result) => result === 0, text()),
  },
});

/** 0x0102: authentication. Some 2019 terminals still send the bare code of the older editions. */
export const terminalAuthentication = defineMessage({
  id: 0x0102,
  name: 'terminalAuthentication',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 9',
  responseIds: [0x8001],
  layoutOf: (body, edition) => (edition === '2019' && (body[0] ?? 0xff) > body.length - 1 ? '2013' : edition),
  body: {
    authCode: byEdition({ '2011': text(), '2013': text(), '2019': text8() }),
    imei: inEditions(['2019'], optionalTail(fixedText(15), 15)),
    softwareVersion: inEditions(['2019'], fixedTextTail(20)),
  },
});
