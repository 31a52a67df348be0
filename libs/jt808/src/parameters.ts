import { EncodeError } from './errors.ts';
import {
  bytes,
  countedList,
  type Field,
  type Fields,
  hexId,
  struct,
  u8,
  u16,
  u32,
  type ValuesOf,
  writeFields,
} from './fields/index.ts';
import { decodeGbk, encodeGbk } from './text.ts';
import { Writer } from './writer.ts';

/** Parameter of 0x8103 and 0x0104 as on the wire; `readParameterValue` returns the typed value. */
export interface ParameterItem {
  id: number;
  bytes: Buffer;
}

/** Wire type of a parameter's value. */
type ParameterType = 'BYTE' | 'WORD' | 'DWORD' | 'STRING' | 'BYTES';

/** Meaning of a parameter id (JT/T 808-2013 table 12, JT/T 1078-2016 table 2). */
export interface ParameterDefinition {
  readonly id: number;
  readonly name: string;
  readonly type: ParameterType;
}

const typeSizes = { BYTE: 1, WORD: 2, DWORD: 4 } as const;

const parameterTable: readonly (readonly [number, ParameterType, string])[] = [
  [0x0001, 'DWORD', 'heartbeatIntervalS'],
  [0x0002, 'DWORD', 'tcpReplyTimeoutS'],
  [0x0003, 'DWORD', 'tcpRetries'],
  [0x0004, 'DWORD', 'udpReplyTimeoutS'],
  [0x0005, 'DWORD', 'udpRetries'],
  [0x0006, 'DWORD', 'smsReplyTimeoutS'],
  [0x0007, 'DWORD', 'smsRetries'],
  [0x0010, 'STRING', 'mainServerApn'],
  [0x0011, 'STRING', 'mainServerUser'],
  [0x0012, 'STRING', 'mainServerPassword'],
  [0x0013, 'STRING', 'mainServerAddress'], // 2019: host:port;host:port
  [0x0014, 'STRING', 'backupServerApn'],
  [0x0015, 'STRING', 'backupServerUser'],
  [0x0016, 'STRING', 'backupServerPassword'],
  [0x0017, 'STRING', 'backupServerAddress'],
  [0x0018, 'DWORD', 'serverTcpPort'], // 2011 and 2013; reserved in 2019
  [0x0019, 'DWORD', 'serverUdpPort'],
  [0x001a, 'STRING', 'icCardServerAddress'],
  [0x001b, 'DWORD', 'icCardServerTcpPort'],
  [0x001c, 'DWORD', 'icCardServerUdpPort'],
  [0x001d, 'STRING', 'icCardBackupServerAddress'],
  [0x0020, 'DWORD', 'reportStrategy'], // 0 time, 1 distance, 2 both
  [0x0021, 'DWORD', 'reportScheme'], //   0 by ACC, 1 by login, then ACC
  [0x0022, 'DWORD', 'reportIntervalNoDriverS'],
  [0x0023, 'STRING', 'secondaryServerApn'], // 2019
  [0x0024, 'STRING', 'secondaryServerUser'],
  [0x0025, 'STRING', 'secondaryServerPassword'],
  [0x0026, 'STRING', 'secondaryServerAddress'],
  [0x0027, 'DWORD', 'reportIntervalAsleepS'],
  [0x0028, 'DWORD', 'reportIntervalEmergencyS'],
  [0x0029, 'DWORD', 'reportIntervalS'],
  [0x002c, 'DWORD', 'reportDistanceM'],
  [0x002d, 'DWORD', 'reportDistanceNoDriverM'],
  [0x002e, 'DWORD', 'reportDistanceAsleepM'],
  [0x002f, 'DWORD', 'reportDistanceEmergencyM'],
  [0x0030, 'DWORD', 'cornerAngleDeg'],
  [0x0031, 'WORD', 'fenceRadiusM'],
  [0x0032, 'BYTES', 'forbiddenDrivingPeriod'], // 2019: hh mm hh mm, binary
  [0x0040, 'STRING', 'platformPhone'],
  [0x0041, 'STRING', 'resetPhone'],
  [0x0042, 'STRING', 'factoryResetPhone'],
  [0x0043, 'STRING', 'platformSmsPhone'],
  [0x0044, 'STRING', 'alarmSmsPhone'],
  [0x0045, 'DWORD', 'answerPolicy'],
  [0x0046, 'DWORD', 'longestCallS'],
  [0x0047, 'DWORD', 'longestMonthlyCallS'],
  [0x0048, 'STRING', 'listenInPhone'],
  [0x0049, 'STRING', 'privilegedSmsPhone'],
  [0x0050, 'DWORD', 'alarmMaskedOut'],
  [0x0051, 'DWORD', 'alarmSms'],
  [0x0052, 'DWORD', 'alarmPhotograph'],
  [0x0053, 'DWORD', 'alarmStorePhoto'],
  [0x0054, 'DWORD', 'alarmKey'],
  [0x0055, 'DWORD', 'topSpeedKmh'],
  [0x0056, 'DWORD', 'overspeedDurationS'],
  [0x0057, 'DWORD', 'continuousDrivingLimitS'],
  [0x0058, 'DWORD', 'dailyDrivingLimitS'],
  [0x0059, 'DWORD', 'minimumRestS'],
  [0x005a, 'DWORD', 'longestParkingS'],
  [0x005b, 'WORD', 'overspeedWarningGapTenthKmh'],
  [0x005c, 'WORD', 'fatigueWarningGapS'],
  [0x005d, 'WORD', 'collision'], // low byte time (4 ms in 2013, ms in 2019), high byte 0.1 g
  [0x005e, 'WORD', 'rolloverDeg'],
  [0x0064, 'DWORD', 'timedPhotoControl'],
  [0x0065, 'DWORD', 'distancePhotoControl'],
  [0x0070, 'DWORD', 'imageQuality'],
  [0x0071, 'DWORD', 'brightness'],
  [0x0072, 'DWORD', 'contrast'],
  [0x0073, 'DWORD', 'saturation'],
  [0x0074, 'DWORD', 'chroma'],
  [0x0075, 'BYTES', 'avSettings'],
  [0x0076, 'BYTES', 'channelList'],
  [0x0077, 'BYTES', 'channelSettings'],
  [0x0079, 'BYTES', 'specialRecording'],
  [0x007a, 'DWORD', 'videoAlarmMask'],
  [0x007b, 'WORD', 'videoAnalysis'], // high byte passenger limit, low byte fatigue threshold
  [0x007c, 'BYTES', 'sleepWake'],
  [0x0080, 'DWORD', 'odometerTenthKm'],
  [0x0081, 'WORD', 'provinceId'],
  [0x0082, 'WORD', 'cityId'],
  [0x0083, 'STRING', 'plateNo'],
  [0x0084, 'BYTE', 'plateColor'],
  [0x0090, 'BYTE', 'gnssMode'],
  [0x0091, 'BYTE', 'gnssBaudRate'],
  [0x0092, 'BYTE', 'gnssOutputRate'],
  [0x0093, 'DWORD', 'gnssSampleS'],
  [0x0094, 'BYTE', 'gnssUploadMode'],
  [0x0095, 'DWORD', 'gnssUploadSetting'],
  [0x0100, 'DWORD', 'can1SampleMs'],
  [0x0101, 'WORD', 'can1UploadS'],
  [0x0102, 'DWORD', 'can2SampleMs'],
  [0x0103, 'WORD', 'can2UploadS'],
];

/** Parameters with a standard meaning, by id. */
export const parameterDefinitions: ReadonlyMap<number, ParameterDefinition> = new Map(
  parameterTable.map(([id, type, name]): [number, ParameterDefinition] => [id, { id, type, name }]),
);

/**
 * Returns the definition of a parameter id. 0x0110-0x01FF are settings of one CAN id each; 0xF000 and above belong to
 * vendors.
 */
function parameterById(id: number): ParameterDefinition | undefined {
  const definition = parameterDefinitions.get(id);
  if (definition !== undefined || id < 0x0110 || id > 0x01ff) return definition;
  return { id, type: 'BYTES', name: 'canIdCollection' };
}

/**
 * Returns the number or text of a parameter; undefined for structures and unknown ids. The item's length determines the
 * width, not the type table.
 */
export function readParameterValue(item: ParameterItem): number | string | undefined {
  const type = parameterById(item.id)?.type;
  if (type === undefined || type === 'BYTES') return undefined;
  if (type === 'STRING') return decodeGbk(item.bytes);
  const { length } = item.bytes;
  return length === 1 || length === 2 || length === 4 ? item.bytes.readUIntBE(0, length) : undefined;
}

/** Creates a parameter for 0x8103 from its typed value; ids without a type require bytes. */
export function createParameter(id: number, value: number | string | Uint8Array): ParameterItem {
  if (typeof value === 'object') return { id, bytes: Buffer.from(value) };
  const type = parameterById(id)?.type;
  if (type === undefined || type === 'BYTES') throw new EncodeError(`parameter ${hexId(id, 4)} requires bytes`);
  if (typeof value === 'string') {
    if (type !== 'STRING') throw new EncodeError(`parameter ${hexId(id, 4)} must be a ${type}`);
    return { id, bytes: encodeGbk(value) };
  }
  if (type === 'STRING') throw new EncodeError(`parameter ${hexId(id, 4)} must be a STRING`);
  const writer = new Writer(4);
  writer.uint(value, typeSizes[type]);
  return { id, bytes: writer.finish() };
}

/** Parameter whose value is a structure of fields (JT/T 1078-2016 tables 3 to 10). */
export interface ParameterStructure<F extends Fields = Fields> {
  readonly id: number;
  readonly fields: F;
}

const stream = {
  encodingMode: u8(), //          0 CBR, 1 VBR, 2 ABR
  resolution: u8(), //            0 QCIF, 1 CIF, 2 WCIF, 3 D1, 4 WD1, 5 720p, 6 1080p
  keyFrameIntervalFrames: u16(),
  frameRate: u8(),
  bitRateKbps: u32(),
};
const streams = { live: struct(stream), stored: struct(stream), osd: u16() };

/** Parameters with structured values, by name. */
export const parameterStructures = {
  avSettings: defineStructure({ id: 0x0075, fields: { ...streams, audioOutput: u8() } }),
  channelList: defineStructure({ id: 0x0076, fields: { channels: channelList() } }),
  channelSettings: defineStructure({
    id: 0x0077,
    fields: { channels: countedList(u8(), struct({ channel: u8(), ...streams })) },
  }),
  specialRecording: defineStructure({
    id: 0x0079,
    fields: { storageThresholdPercent: u8(), durationMin: u8(), startMin: u8() },
  }),
  sleepWake: defineStructure({
    id: 0x007c,
    fields: { wakeMode: u8(), wakeCondition: u8(), wakeDays: u8(), dailyWake: bytes(17) },
  }),
  forbiddenDrivingPeriod: defineStructure({
    id: 0x0032,
    fields: { startHour: u8(), startMinute: u8(), endHour: u8(), endMinute: u8() },
  }),
};

function defineStructure<F extends Fields>(structure: ParameterStructure<F>): ParameterStructure<F> {
  return structure;
}

/** Creates the field for the channels of 0x0076 with the three counts before them. */
function channelList() {
  const channelType: Field<number> = { ...u8(), shape: { kind: 'integer', min: 0, max: 2 } };
  const channel = struct({
    physicalNo: u8(),
    logicalNo: u8(),
    type: channelType, // 0 AV, 1 audio, 2 video
    ptz: u8(), //  0 no, 1 yes
  });
  return {
    ...channel,
    type: `BYTE av, BYTE audio, BYTE video, n x (${channel.type})`,
    shape: { kind: 'list', item: channel.shape, max: 5 },
    read(reader, scope) {
      const count = reader.u8() + reader.u8() + reader.u8();
      return Array.from({ length: count }, () => channel.read(reader, scope));
    },
    write(writer, value, scope) {
      if (value.some((item) => item.type > 2)) throw new EncodeError('a channel must be AV, audio or video');
      for (const type of [0, 1, 2]) writer.uint(value.filter((item) => item.type === type).length, 1);
      for (const item of value) channel.write(writer, item, scope);
    },
    format: (out, _key, value) => {
      out['channels'] = value;
    },
  } satisfies Field<Channel[]> as Field<Channel[]>;
}

/** Camera channel as listed in 0x0076. */
interface Channel {
  physicalNo: number;
  logicalNo: number;
  type: number;
  ptz: number;
}

/** Creates a structured parameter for 0x8103. */
export function createStructuredParameter<F extends Fields>(
  structure: ParameterStructure<F>,
  values: ValuesOf<F>,
): ParameterItem {
  const writer = new Writer();
  writeFields(Object.entries(structure.fields), writer, { ...values }, '2019');
  return { id: structure.id, bytes: writer.finish() };
}

/** Creates the field for items of DWORD id, BYTE length and value, to the end of the body. */
export function parameterItems(): Field<ParameterItem[]> {
  return {
    type: 'n x (DWORD id, BYTE length, value)',
    shape: {
      kind: 'list',
      max: 6,
      item: {
        kind: 'object',
        fields: { id: { kind: 'integer', min: 0, max: 0xffff_ffff }, bytes: { kind: 'bytes', min: 0, max: 40 } },
      },
    },
    read(reader) {
      const items: ParameterItem[] = [];
      while (reader.remaining >= 5) {
        const length = reader.bytes[reader.at + 4] as number;
        if (length > reader.remaining - 5) break;
        const id = reader.u32();
        reader.u8();
        items.push({ id, bytes: reader.take(length) });
      }
      return items;
    },
    write(writer, value) {
      for (const item of value) {
        writer.uint(item.id, 4);
        writer.uint(item.bytes.length, 1);
        writer.put(item.bytes);
      }
    },
    format(out, _key, value) {
      out['params'] = value.map(formatParameter);
    },
  };
}

/** Returns the log form of a parameter: id, length, raw hex, and its value if it is a number or a text. */
function formatParameter(item: ParameterItem): Record<string, unknown> {
  const raw = { id: hexId(item.id, 4), length: item.bytes.length, hex: item.bytes.toString('hex').toUpperCase() };
  const value = readParameterValue(item);
  return value === undefined ? raw : { ...raw, value };
}

/** Returns true if whole items fill the body exactly from an offset on; this detects the second count byte of 2011. */
export function doItemsFit(body: Buffer, start: number): boolean {
  let at = start;
  while (at + 5 <= body.length) at += 5 + (body[at + 4] as number);
  return at === body.length;
}
