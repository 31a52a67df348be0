import type { RequestContext } from '@fleet/service-kit';
import { acceptWebsocket, keepWebsocketAlive } from '@fleet/service-kit/websocket';
import type { CommandContext, Deps } from '../../deps.ts';
import { openVoice } from './open-voice.ts';
import { relayVoice } from './relay-voice.ts';
import { startTalk, type TalkDeps, voiceDataTypes } from './start-talk.ts';

/** Two seconds of PCM. */
const maxMessageBytes = 32_000;
const pingIntervalMs = 10_000;

/** A request to talk. */
interface TalkRequest {
  /** Canonical number. */
  readonly imei: string;
  readonly channel: number;
  /** Takes the turn of another talker. */
  readonly isForced: boolean;
}

/** Connects the websocket of a request with the camera of a device until the talk ends. */
export async function talk(
  deps: TalkDeps & Pick<Deps, 'talkTurns'>,
  { imei, channel, isForced }: TalkRequest,
  context: RequestContext,
  commandContext: CommandContext,
): Promise<void> {
  const turn = await deps.talkTurns.take(imei, channel, { isForced });
  try {
    const id = { kind: 'talk', imei, channel } as const;
    const { signal } = context;
    const talkChannel = { imei, channel, dataType: voiceDataTypes.talk };
    const { previousChannel } = turn;
    const claim = await startTalk(deps, talkChannel, { previousChannel, signal }, commandContext);
    const pod = await openVoice(deps, id, claim, signal);
    try {
      const talker = await acceptWebsocket(context, { maxPayloadBytes: maxMessageBytes });
      keepWebsocketAlive(talker, pingIntervalMs);
      await relayVoice(talker, pod, {
        maxMs: deps.config.TALK_MAX_SECONDS * 1000,
        lost: turn.lost,
        stopping: deps.stopping,
      });
    } finally {
      pod.close();
    }
  } finally {
    await turn.release();
  }
}
