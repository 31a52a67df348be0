import type { CommandContext, Deps } from '../deps.ts';
import { cameraSpan, type UtcOffset } from '../domain/camera-time.ts';
import { answerOf } from '../domain/outcome.ts';
import { type Recording, recordingsOf } from '../domain/recordings.ts';
import { type AskDeps, askDevice } from './ask-device.ts';

export interface ListRecordings {
  /** Canonical number. */
  readonly imei: string;
  /** 0: every channel. */
  readonly channel: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly resourceType: number;
  readonly streamType: number;
  readonly memoryType: number;
  /** 0: all. */
  readonly alarmFlags: bigint;
}

/** Lists the recordings of a camera in a time span (0x9205). An empty list is valid; an incomplete one is an error. */
export async function listRecordings(
  deps: AskDeps & Pick<Deps, 'clocks'>,
  wanted: ListRecordings,
  context: CommandContext,
): Promise<{ readonly offset: UtcOffset; readonly recordings: readonly Recording[] }> {
  const { imei, channel } = wanted;
  const offset = await deps.clocks.offsetOf(imei, context);
  const { startTime, endTime } = cameraSpan(wanted.startMs, wanted.endMs, offset);
  const outcome = await askDevice(
    deps,
    imei,
    {
      kind: 'listRecordings',
      channel,
      startTime,
      endTime,
      alarmFlags: String(wanted.alarmFlags),
      mediaType: wanted.resourceType,
      streamType: wanted.streamType,
      storageType: wanted.memoryType,
    },
    context,
  );
  return { offset, recordings: recordingsOf(answerOf(outcome), offset) };
}
