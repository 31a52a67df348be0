import type { Edition } from '../edition.ts';
import {
  byEdition,
  countedList,
  countOf,
  digits,
  type Field,
  fixedText,
  lookAhead,
  remainingBytes,
  text,
  text8,
  u8,
  u16,
  u32,
} from '../fields/index.ts';
import { packageCount } from '../fields/lists.ts';
import { defineMessage } from '../message.ts';
import { doItemsFit, parameterItems } from '../parameters.ts';
import type { Reader } from '../reader.ts';

/** 0x8103: set parameters. */
export const setParameters = defineMessage({
  id: 0x8103,
  name: 'setParameters',
  from: 'platform',
  reference: 'JT/T 808-2013 table 10',
  responseIds: [0x0001],
  layoutOf: (body, edition) => (edition !== '2013' || doItemsFit(body, 1) || !doItemsFit(body, 2) ? edition : '2011'),
  body: { count: countOf('params', u8()), packageCount: packageCount('params'), params: parameterItems() },
});

/** 0x8104: query all parameters. */
export const queryParameters = defineMessage({
  id: 0x8104,
  name: 'queryParameters',
  from: 'platform',
  reference: 'JT/T 808-2013 8.10',
  responseIds: [0x0104],
  body: {},
});

/** 0x8106: query some parameters. */
export const queryParametersByIds = defineMessage({
  id: 0x8106,
  name: 'queryParametersByIds',
  from: 'platform',
  reference: 'JT/T 808-2013 table 15',
  editions: ['2013', '2019'],
  responseIds: [0x0104],
  body: { paramIds: countedList(u8(), u32({ hexDigits: 4 })) },
});

/** 0x0104: parameters of the terminal. The count may be wrong, so the items are read to the end. */
export const queryParametersResponse = defineMessage({
  id: 0x0104,
  name: 'queryParametersResponse',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 16',
  layoutOf: (body, edition) => (edition !== '2013' || doItemsFit(body, 3) || !doItemsFit(body, 4) ? edition : '2011'),
  body: {
    replySerial: u16(),
    count: countOf('params', u8()),
    packageCount: packageCount('params'),
    params: parameterItems(),
  },
  format(out, body) {
    const { params, count } = body;
    if (Array.isArray(params) && count !== undefined && params.length !== count) out['count_mismatch'] = true;
  },
});

/**
 * Commands of 0x8105 (JT/T 808-2013 table 18). 2019 retains only 2, 4 and 5; send the others anyway and pass on the
 * response.
 */
export const TerminalControlCommand = {
  wirelessUpgrade: 1,
  connectToServer: 2,
  powerOff: 3,
  reset: 4,
  factoryReset: 5,
  stopDataCommunication: 6,
  stopAllCommunication: 7,
} as const;

/** 0x8105: terminal control. After commands 2, 4 and 5 the terminal drops the connection. */
export const terminalControl = defineMessage({
  id: 0x8105,
  name: 'terminalControl',
  from: 'platform',
  reference: 'JT/T 808-2013 table 17',
  responseIds: [0x0001],
  body: {
    command: u8(),
    parameters: text(), // decimal text fields separated by `;`, an unused one empty (table 19)
  },
});

/** Joins the parameters of 0x8105. An unused field stays empty and retains its `;`. Throws on a `;` inside a field. */
export function joinControlParameters(fields: readonly (string | number | null | undefined)[]): string {
  return fields.map((field) => assertControlField(String(field ?? ''))).join(';');
}

function assertControlField(field: string): string {
  if (field.includes(';')) throw new RangeError('a terminal control parameter cannot contain ";"');
  return field;
}

/** 0x8107: query attributes. */
export const queryAttributes = defineMessage({
  id: 0x8107,
  name: 'queryAttributes',
  from: 'platform',
  reference: 'JT/T 808-2013 8.14',
  editions: ['2013', '2019'],
  responseIds: [0x0107],
  body: {},
});

/**
 * Creates the detected width of the manufacturer's id, 5 by the standard and 11 in some 2019 implementations: the width
 * with which the rest fits.
 */
function manufacturerIdLength(fits: (reader: Reader, length: 5 | 11, is2019: boolean) => boolean) {
  return lookAhead<number>(
    (reader, scope) => {
      const is2019 = scope.edition === '2019';
      return !fits(reader, 5, is2019) && fits(reader, 11, is2019) ? 11 : 5;
    },
    [5],
    (out, _key, value) => {
      out['manufacturer_id_length'] = value;
    },
  );
}

const shortManufacturerId = fixedText(5);
const longManufacturerId = fixedText(11);

function manufacturerId(): Field<string> {
  const fieldForLength = (length: unknown): Field<string> => (length === 11 ? longManufacturerId : shortManufacturerId);
  return {
    ...shortManufacturerId,
    type: 'BYTE[5/11]',
    read: (reader, scope) => fieldForLength(scope.body['manufacturerIdLength']).read(reader, scope),
    write: (writer, value, scope) => fieldForLength(scope.body['manufacturerIdLength']).write(writer, value, scope),
  };
}

/**
 * Returns true if exactly the two attribute bytes follow the two texts of a 0x0107 whose manufacturer's id starts at
 * `at`.
 */
function doAttributesFitAt(body: Buffer, at: number, length: 5 | 11, is2019: boolean): boolean {
  const hardware = at + length + (is2019 ? 60 : 27) + 10;
  const firmware = hardware + 1 + (body[hardware] ?? 0);
  return firmware < body.length && firmware + 1 + (body[firmware] as number) + 2 === body.length;
}

/** Checks the attributes from the manufacturer's id on. The look-ahead starts there, after the terminal type. */
function doAttributesFit(reader: Reader, length: 5 | 11, is2019: boolean): boolean {
  return doAttributesFitAt(reader.bytes, reader.at, length, is2019);
}

/**
 * Returns the layout of a 0x0107: that of the edition, unless only the other one fits (2019 fields after a short
 * header, or the reverse).
 */
function detectAttributesLayout(body: Buffer, edition: Edition): Edition {
  const fits = (is2019: boolean): boolean =>
    ([5, 11] as const).some((length) => doAttributesFitAt(body, 2, length, is2019));
  const is2019 = edition === '2019';
  if (fits(is2019) || !fits(!is2019)) return edition;
  return is2019 ? '2013' : '2019';
}

/**
 * 0x0107: attributes. Has no reply serial. [13] prints the ICCID at offset 42; the sum of the widths, and terminals,
 * give 34.
 */
export const queryAttributesResponse = defineMessage({
  id: 0x0107,
  name: 'queryAttributesResponse',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 20',
  editions: ['2013', '2019'],
  layoutOf: detectAttributesLayout,
  body: {
    terminalType: u16(), // bits 0 passenger, 1 dangerous goods, 2 freight, 3 taxi, 6 disk recording, 7 split unit, 8 trailer (2019)
    manufacturerIdLength: manufacturerIdLength(doAttributesFit),
    manufacturerId: manufacturerId(),
    terminalModel: byEdition({ '2011': fixedText(20), '2013': fixedText(20), '2019': fixedText(30) }),
    terminalId: byEdition({ '2011': fixedText(7), '2013': fixedText(7), '2019': fixedText(30) }),
    iccid: digits(10), // 20 digits, may end in F
    hardwareVersion: text8(),
    firmwareVersion: text8(),
    gnssAttributes: u8(), //          bits 0 GPS, 1 BeiDou, 2 GLONASS, 3 Galileo
    communicationAttributes: u8(), // bits 0 GPRS, 1 CDMA, 2 TD-SCDMA, 3 WCDMA, 4 CDMA2000, 5 TD-LTE, 7 other
  },
});

function doesPackageFit(reader: Reader, length: 5 | 11): boolean {
  const version = reader.at + length;
  const size = version + 1 + (reader.bytes[version] ?? 0);
  return size + 4 <= reader.end && reader.bytes.readUInt32BE(size) === reader.end - size - 4;
}

/** 0x8108: upgrade package, usually in many parts. */
export const upgradePackage = defineMessage({
  id: 0x8108,
  name: 'upgradePackage',
  from: 'platform',
  reference: 'JT/T 808-2013 table 21',
  editions: ['2013', '2019'],
  responseIds: [0x0001],
  body: {
    upgradeType: u8(), // 0 terminal, 12 IC card reader, 52 GNSS; T/JSATL 12: 0x64-0x67
    manufacturerIdLength: manufacturerIdLength(doesPackageFit),
    manufacturerId: manufacturerId(),
    version: text8(),
    dataLength: countOf('data', u32()),
    data: remainingBytes(),
  },
});

/** 0x0108: upgrade result, sent after reconnecting. */
export const upgradeResult = defineMessage({
  id: 0x0108,
  name: 'upgradeResult',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 22',
  editions: ['2013', '2019'],
  responseIds: [0x8001],
  body: {
    upgradeType: u8(),
    result: u8(), // 0 success, 1 failure, 2 cancelled; T/JSATL 12: 0x10 no target, 0x11 hardware, 0x12 same, 0x13 not supported
  },
});
