import type { LocationReport } from '@fleet/jt808';
import { type AdditionalItem, type AlarmTag, additionalItemDefinitions, createAdditionalItem } from '@fleet/jt808';

/** Tag sizes of alarms: Jiangsu, Heilongjiang, Sichuan, Guangdong. */
export type TagBytes = 16 | 38 | 39 | 40;

/** File that belongs to an alarm. */
export interface AlarmFile {
  content: Buffer;
  /** 0 image, 1 audio, 2 video, 3 text, 4 other. */
  type: 0 | 1 | 2 | 3 | 4;
  /** Channel in the file's name: 0 to 37 for a channel of table 4-29, 64 ADAS, 65 DSM. */
  channel?: number | undefined;
  /** `jpg`, `mp4` and so on; derived from the type when absent. */
  extension?: string | undefined;
}

/** An active-safety alarm (T/JSATL 12-2017 tables 4-15, 4-17, 4-20). */
export interface SafetyAlarm {
  kind: 'adas' | 'dsm' | 'bsd';
  /** 1 forward collision, 2 lane departure ... (ADAS); 1 fatigue, 2 phone, 3 smoking ... (DSM); 1 rear, 2 left, 3 right (BSD). */
  type: number;
  /** 1 or 2; BSD does not report it. */
  level?: 1 | 2 | undefined;
  /** 0 none, 1 start, 2 end. */
  flag?: 0 | 1 | 2 | undefined;
  files?: readonly AlarmFile[] | undefined;
  tagBytes?: TagBytes | undefined;
}

/** Ids of the alarms' items in 0x0200. */
const alarmItemIds = { adas: 0x64, dsm: 0x65, bsd: 0x67 } as const;

const extensions = ['jpg', 'wav', 'mp4', 'txt', 'bin'] as const;
const defaultChannels = { adas: 64, dsm: 65, bsd: 0 } as const;
const reservedBytes: Readonly<Record<TagBytes, number>> = { 16: 1, 38: 0, 39: 1, 40: 2 };

/** Bits of an alarm's vehicle status. */
const accOnBit = 1;
const fixedBit = 1 << 10;

/** Identity of an alarm among those of a terminal. */
interface AlarmIdentity {
  alarmId: number;
  terminalId: string;
  /** Counter of the alarms within one second. */
  seq: number;
}

/** Creates the item of an alarm, and its tag as sent. */
export function createSafetyItem(
  alarm: SafetyAlarm,
  { alarmId, terminalId, seq }: AlarmIdentity,
  location: LocationReport & { time: string },
): { item: AdditionalItem; tag: Buffer } {
  const { kind, type, level = 1, flag = 0, files = [], tagBytes = 16 } = alarm;
  const tag: AlarmTag = {
    terminalId,
    time: location.time,
    seq,
    attachmentCount: files.length,
    reserved: Buffer.alloc(reservedBytes[tagBytes]),
    terminalIdLength: tagBytes === 16 ? 7 : 30,
  };
  const position = {
    speedKmh: Math.round(location.speedKmh),
    altitudeM: location.altitudeM,
    latitudeDeg: Math.abs(location.latitudeDeg),
    longitudeDeg: Math.abs(location.longitudeDeg),
    time: location.time,
    vehicleStatus: (location.status & accOnBit) | fixedBit,
    tag,
  };
  const header = { alarmId, flag, type };
  const adasFields = { frontSpeedKmh: 40, frontDistance100ms: 12, deviationType: 0, signType: 0, signData: 0 };
  const createItem = {
    adas: () =>
      createAdditionalItem(additionalItemDefinitions.adasAlarm, { ...header, level, ...adasFields, ...position }),
    dsm: () =>
      createAdditionalItem(additionalItemDefinitions.dsmAlarm, {
        ...header,
        level,
        fatigueLevel: 5,
        reserved: Buffer.alloc(4),
        ...position,
      }),
    bsd: () => createAdditionalItem(additionalItemDefinitions.bsdAlarm, { ...header, ...position }),
  };
  const extra = createItem[kind]();
  return { item: extra, tag: Buffer.from(extra.bytes.subarray(-tagBytes)) };
}

const twoDigits = (value: number, radix = 10): string => value.toString(radix).padStart(2, '0');

/**
 * Returns the names of an alarm's files, `type_channel_alarm_seq_alarmno.ext`. They depend on the number assigned by
 * the platform.
 */
export function buildFileNames(alarm: SafetyAlarm, alarmNo: string): string[] {
  const code = `${twoDigits(alarmItemIds[alarm.kind], 16)}${twoDigits(alarm.type, 16)}`;
  return (alarm.files ?? []).map(({ type, channel = defaultChannels[alarm.kind], extension = extensions[type] }, seq) =>
    [twoDigits(type), channel, code, seq, `${alarmNo}.${extension}`].join('_'),
  );
}
