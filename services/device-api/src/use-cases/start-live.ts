import type { CommandContext } from '../deps.ts';
import { type MediaAddressWish, mediaAddress } from '../domain/media-address.ts';
import type { GeneralAnswer } from '../domain/outcome.ts';
import { type StartDeps, startStream } from './start-stream.ts';

export interface StartLive extends MediaAddressWish {
  /** Canonical number. */
  readonly imei: string;
  readonly channel: number;
  readonly dataType: number;
  readonly streamType: number;
}

/** Starts a live stream (0x9101). */
export async function startLive(deps: StartDeps, wanted: StartLive, context: CommandContext): Promise<GeneralAnswer> {
  const { config } = deps;
  const { imei, channel, dataType, streamType } = wanted;
  const address = mediaAddress(wanted, {
    host: config.MEDIA_PUBLIC_HOST,
    port: config.MEDIA_LIVE_PORT,
    allowlist: config.DEVICE_HOST_ALLOWLIST,
  });
  const { server, tcpPort, udpPort } = address;
  return startStream(
    deps,
    {
      id: { kind: 'live', imei, channel },
      address,
      wanted: { dataType, streamType },
      command: { kind: 'startLive', server, tcpPort, udpPort, channel, dataType, streamType },
      responseId: '0x9101',
    },
    context,
  );
}
