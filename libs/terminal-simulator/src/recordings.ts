import { standardZoneMinutes, toCameraTime, toEpochMs } from './camera-clock.ts';

/** One recording on a terminal's disk, as an item of 0x1205 (JT/T 1078-2016 table 23). */
export interface Recording {
  channel: number;
  /** Time on the camera's clock, `YYYY-MM-DDThh:mm:ss`. */
  startTime: string;
  endTime: string;
  /** Bits 0-31 as in 0x0200, bits 32-63 video alarms. */
  alarmFlags: bigint;
  /** 0 audio and video, 1 audio, 2 video. */
  mediaType: number;
  /** 1 main, 2 sub stream. */
  streamType: number;
  /** 1 main, 2 backup storage. */
  storageType: number;
  fileSizeBytes: number;
}

/** Query of 0x9205, 0x9201 and 0x9206; null and 0 mean "any" as in the standard. */
export interface RecordingQuery {
  channel: number;
  startTime: string | null;
  endTime: string | null;
  alarmFlags: bigint;
  /** 0 audio and video, 1 audio, 2 video, 3 video with or without audio. */
  mediaType: number;
  streamType: number;
  storageType: number;
}

function isMediaTypeMatch(requested: number, actual: number): boolean {
  return requested === 3 ? actual !== 1 : requested === actual;
}

/** Returns true if a terminal would list the recording for the query: a window matches if it overlaps. */
export function isQueryMatch(recording: Recording, query: RecordingQuery): boolean {
  return (
    (query.channel === 0 || query.channel === recording.channel) &&
    (query.startTime === null || recording.endTime > query.startTime) &&
    (query.endTime === null || recording.startTime < query.endTime) &&
    (query.alarmFlags === 0n || (recording.alarmFlags & query.alarmFlags) !== 0n) &&
    isMediaTypeMatch(query.mediaType, recording.mediaType) &&
    (query.streamType === 0 || query.streamType === recording.streamType) &&
    (query.storageType === 0 || query.storageType === recording.storageType)
  );
}

/** Returns the stated size of a recording and its upload: the bytes of the bit rate plus a margin for the container. */
export function estimateRecordingBytes(seconds: number, bitrateKbps: number): number {
  return Math.ceil((seconds * (bitrateKbps + 80) * 1000) / 8) + 65_536;
}

/** Format of the recordings on one disk. */
export interface RecordingFormat {
  channels: readonly number[];
  /** Length of one recording. */
  seconds: number;
  bitrateKbps: number;
  zoneMinutes?: number | undefined;
}

/** Options of `createRecordings`. */
export interface RecordingPlan extends RecordingFormat {
  /** Recordings per channel. */
  count: number;
  /** End of the latest recording. */
  until: Date;
}

/** Returns the recording of a channel with this index: every seventh has an alarm, every fifth has no audio. */
export function createRecording(format: RecordingFormat, channel: number, index: number, startMs: number): Recording {
  const { seconds, bitrateKbps, zoneMinutes } = format;
  return {
    channel,
    startTime: toCameraTime(startMs, zoneMinutes),
    endTime: toCameraTime(startMs + seconds * 1000, zoneMinutes),
    alarmFlags: index % 7 === 6 ? 1n : 0n,
    mediaType: index % 5 === 4 ? 2 : 0,
    streamType: 1,
    storageType: 1,
    fileSizeBytes: estimateRecordingBytes(seconds, bitrateKbps),
  };
}

/** Creates consecutive recordings, the newest ending at `until`. */
export function createRecordings(plan: RecordingPlan): Recording[] {
  const untilMs = Math.floor(plan.until.getTime() / 1000) * 1000;
  const recordings: Recording[] = [];
  for (let index = 0; index < plan.count; index += 1) {
    const startMs = untilMs - (plan.count - index) * plan.seconds * 1000;
    for (const channel of plan.channels) recordings.push(createRecording(plan, channel, index, startMs));
  }
  return recordings;
}

/** Range of a recording within a query's window, in milliseconds since 1970. */
export interface RecordingSegment {
  recording: Recording;
  fromMs: number;
  toMs: number;
}

/** Returns the segments to play or upload, in order of time. */
export function selectSegments(
  recordings: readonly Recording[],
  query: RecordingQuery,
  zoneMinutes: number = standardZoneMinutes,
): RecordingSegment[] {
  const fromMs = query.startTime === null ? Number.NEGATIVE_INFINITY : toEpochMs(query.startTime, zoneMinutes);
  const toMs = query.endTime === null ? Number.POSITIVE_INFINITY : toEpochMs(query.endTime, zoneMinutes);
  return recordings
    .filter((recording) => isQueryMatch(recording, query))
    .toSorted((a, b) => (a.startTime < b.startTime ? -1 : 1))
    .map((recording) => ({
      recording,
      fromMs: Math.max(fromMs, toEpochMs(recording.startTime, zoneMinutes)),
      toMs: Math.min(toMs, toEpochMs(recording.endTime, zoneMinutes)),
    }));
}
