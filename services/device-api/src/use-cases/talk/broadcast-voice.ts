import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@fleet/service-kit';
import { readVoice } from '@fleet/storage';
import type { WebSocket } from 'ws';
import type { CommandContext, Deps } from '../../deps.ts';
import { openVoice } from './open-voice.ts';
import { startTalk, type TalkDeps, voiceDataTypes } from './start-talk.ts';

/** A broadcast to one device. */
interface BroadcastRequest {
  /** Canonical number. */
  readonly imei: string;
  readonly channel: number;
  readonly voiceId: string;
}

/** 20 ms of 16-bit PCM at 8 kHz. */
const messageBytes = 320;
const messageMs = 20;
const bytesPerSecond = 16_000;
/** The camera plays what it has received before its talk ends. */
const playoutMs = 500;

/** Plays voice to the driver of a device; resolves at its end. Throws 409 while somebody talks, and the errors of talk. */
export async function broadcastVoice(
  deps: TalkDeps & Pick<Deps, 'talkTurns'>,
  { imei, channel, voiceId }: BroadcastRequest,
  context: CommandContext,
): Promise<{ seconds: number }> {
  const pcm = await readVoice(deps.redis, 'pcm', voiceId);
  if (pcm === null) throw new AppError('not_found', 'The voice of the broadcast has expired.');
  const turn = await deps.talkTurns.take(imei, channel, { isForced: false });
  try {
    const signal = AbortSignal.any([turn.lost, deps.stopping]);
    const talkChannel = { imei, channel, dataType: voiceDataTypes.broadcast };
    const claim = await startTalk(deps, talkChannel, { previousChannel: null, signal }, context);
    const pod = await openVoice(deps, { kind: 'talk', imei, channel }, claim, signal);
    try {
      await speak(pod, pcm, signal);
    } finally {
      pod.close();
    }
  } finally {
    await turn.release();
  }
  return { seconds: pcm.length / bytesPerSecond };
}

/** Sends PCM at the pace of speech. */
async function speak(pod: WebSocket, pcm: Buffer, signal: AbortSignal): Promise<void> {
  const startedAtMs = performance.now();
  for (let sentBytes = 0; sentBytes < pcm.length; ) {
    if (pod.readyState !== pod.OPEN) throw new AppError('upstream_error', 'The camera has ended the broadcast.');
    if (signal.aborted) throw new AppError('camera_busy', 'The broadcast was interrupted.');
    const dueBytes = ((performance.now() - startedAtMs) / 1000) * bytesPerSecond + messageBytes;
    for (; sentBytes < Math.min(dueBytes, pcm.length); sentBytes += messageBytes) pod.send(toMessage(pcm, sentBytes));
    await delay(messageMs);
  }
  await delay(playoutMs);
}

/** Returns 20 ms of voice; the last ones are completed with silence. */
function toMessage(pcm: Buffer, at: number): Buffer {
  const part = pcm.subarray(at, at + messageBytes);
  return part.length === messageBytes ? part : Buffer.concat([part, Buffer.alloc(messageBytes - part.length)]);
}
