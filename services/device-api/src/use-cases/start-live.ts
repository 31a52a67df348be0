import type { StreamId } from '@fleet/storage';
import type { CommandContext } from '../deps.ts';
import { type MediaAddressOptions, resolveMediaAddress } from '../domain/media-address.ts';
import type { GeneralResponse } from '../domain/outcome.ts';
import { findDataLimit } from './find-data-limit.ts';
import { startChosenStream } from './start-chosen-stream.ts';
import { type StartDeps, startStream } from './start-stream.ts';

interface StartLiveRequest extends MediaAddressOptions {
  /** Canonical number. */
  readonly imei: string;
  readonly channel: number;
  readonly dataType: number;
  readonly streamType: number;
  /**
   * The caller who chose the stream type: a running stream of another type is switched. Without it, a running stream is
   * not disturbed.
   */
  readonly switchedBy?: string | undefined;
}

/** As in 0x9101. */
const subStream = 1;

/** Starts a live stream (0x9101); the sub stream if that is what the data budget of the device allows. */
export async function startLive(
  deps: StartDeps,
  request: StartLiveRequest,
  context: CommandContext,
): Promise<GeneralResponse> {
  const { config } = deps;
  const { imei, channel, dataType, switchedBy } = request;
  const address = resolveMediaAddress(request, {
    host: config.MEDIA_PUBLIC_HOST,
    port: config.MEDIA_LIVE_PORT,
    allowlist: config.DEVICE_HOST_ALLOWLIST,
  });
  const streamType = (await findDataLimit(deps, imei, context)) === 'sub_stream' ? subStream : request.streamType;
  const { server, tcpPort, udpPort } = address;
  const isChosen = switchedBy !== undefined && !address.isForeign;
  const id: StreamId = { kind: 'live', imei, channel };
  const start = (): Promise<GeneralResponse> =>
    startStream(
      deps,
      {
        id,
        address,
        requestedMedia: { dataType, streamType, returnsToSub: isChosen && streamType === 0 },
        command: { kind: 'startLive', server, tcpPort, udpPort, channel, dataType, streamType },
        responseId: '0x9101',
      },
      context,
    );
  return isChosen ? startChosenStream(deps, { id, streamType, caller: switchedBy }, start, context) : start();
}
