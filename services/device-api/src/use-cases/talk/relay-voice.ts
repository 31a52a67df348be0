import type { RawData, WebSocket } from 'ws';

/** Why a talk ended, as a close code for the talker (docs/reference/video.md). */
const talkCloseCodes = {
  restart: [1012, 'the service restarts'],
  timeLimit: [4408, 'the time limit of a talk has passed'],
  taken: [4409, 'a manager has taken over the talk'],
  mediaLost: [4502, 'the connection to the camera was lost'],
} as const;

type CloseReason = readonly [code: number, reason: string];

/** What ends a talk besides its two sides. */
interface RelayLimits {
  readonly maxMs: number;
  /** Somebody has taken over. */
  readonly lost: AbortSignal;
  readonly stopping: AbortSignal;
}

/** Four seconds of voice: a side that does not read loses the rest. */
const maxQueuedBytes = 64_000;
/** Codes from which the talker learns something; others become `mediaLost`. */
const isForwarded = (code: number): boolean => code === 1007 || code === 1012 || (code >= 4000 && code < 5000);

/** Forwards voice between a talker and a media pod until either side leaves or a limit is reached. */
export function relayVoice(talker: WebSocket, pod: WebSocket, { maxMs, lost, stopping }: RelayLimits): Promise<void> {
  return new Promise((resolve) => {
    const end = (reason: CloseReason): void => {
      talker.close(...reason);
      finish();
    };
    const onLost = (): void => end(talkCloseCodes.taken);
    const onStopping = (): void => end(talkCloseCodes.restart);
    const timer = setTimeout(() => end(talkCloseCodes.timeLimit), maxMs);
    const finish = (): void => {
      clearTimeout(timer);
      lost.removeEventListener('abort', onLost);
      stopping.removeEventListener('abort', onStopping);
      pod.close();
      resolve();
    };
    forward(talker, pod);
    forward(pod, talker);
    talker.once('close', finish);
    pod.once('close', (code: number, reason: Buffer) =>
      end(isForwarded(code) ? [code, reason.toString()] : talkCloseCodes.mediaLost),
    );
    lost.addEventListener('abort', onLost, { once: true });
    stopping.addEventListener('abort', onStopping, { once: true });
    if (lost.aborted) onLost();
    else if (stopping.aborted) onStopping();
    else if (talker.readyState !== talker.OPEN) finish();
    else if (pod.readyState !== pod.OPEN) end(talkCloseCodes.mediaLost);
  });
}

function forward(from: WebSocket, to: WebSocket): void {
  from.on('message', (data: RawData, isBinary: boolean) => {
    // A closing side still sends; what it says is not heard any more.
    if (from.readyState !== from.OPEN || to.readyState !== to.OPEN || to.bufferedAmount > maxQueuedBytes) return;
    to.send(data, { binary: isBinary });
  });
}
