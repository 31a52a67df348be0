import type { CommandContext } from '../deps.ts';
import { type MediaAddressOptions, resolveMediaAddress } from '../domain/media-address.ts';
import type { GeneralResponse } from '../domain/outcome.ts';
import { type StartDeps, startStream } from './start-stream.ts';

export interface StartLiveRequest extends MediaAddressOptions {
  /** Canonical number. */
  readonly imei: string;
  readonly channel: number;
  readonly dataType: number;
  readonly streamType: number;
}

/** Starts a live stream (0x9101). */
export async function startLive(
  deps: StartDeps,
  request: StartLiveRequest,
  context: CommandContext,
): Promise<GeneralResponse> {
  const { config } = deps;
  const { imei, channel, dataType, streamType } = request;
  const address = resolveMediaAddress(request, {
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
      requestedMedia: { dataType, streamType },
      command: { kind: 'startLive', server, tcpPort, udpPort, channel, dataType, streamType },
      responseId: '0x9101',
    },
    context,
  );
}
