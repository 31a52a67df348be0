import type { CommandContext, Deps } from '../deps.ts';
import { toCameraSpan, type UtcOffset } from '../domain/camera-time.ts';
import { unwrapResponse } from '../domain/outcome.ts';
import { parseRecordings, type Recording } from '../domain/recordings.ts';
import { type CommandDeps, sendCommand } from './send-command.ts';

export interface ListRecordingsRequest {
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
  deps: CommandDeps & Pick<Deps, 'utcOffsets'>,
  request: ListRecordingsRequest,
  context: CommandContext,
): Promise<{ readonly offset: UtcOffset; readonly recordings: readonly Recording[] }> {
  const { imei, channel } = request;
  const offset = await deps.utcOffsets.get(imei, context);
  const { startTime, endTime } = toCameraSpan(request.startMs, request.endMs, offset);
  const outcome = await sendCommand(
    deps,
    imei,
    {
      kind: 'listRecordings',
      channel,
      startTime,
      endTime,
      alarmFlags: String(request.alarmFlags),
      mediaType: request.resourceType,
      streamType: request.streamType,
      storageType: request.memoryType,
    },
    context,
  );
  return { offset, recordings: parseRecordings(unwrapResponse(outcome), offset) };
}
