import { randomUUID } from 'node:crypto';
import { type BusContext, deviceApi, serveUseCase } from '@fleet/bus';
import type { CommandContext, Deps } from '../deps.ts';
import { controlLive } from '../use-cases/control-live.ts';
import { controlPlayback } from '../use-cases/control-playback.ts';
import { listRecordings } from '../use-cases/list-recordings.ts';
import { sendControlCommand } from '../use-cases/send-control-command.ts';
import { sendText } from '../use-cases/send-text.ts';
import { startLive } from '../use-cases/start-live.ts';
import { startPlayback } from '../use-cases/start-playback.ts';
import { wakeUp } from '../use-cases/wake-up.ts';
import { serveUploads } from './serve-uploads.ts';

const queue = 'device-api';
/** The reply must reach its caller before the caller times out. */
const returnTripMs = 250;

/** Serves the use cases over the bus for other services, which check credentials and rate limits themselves. */
export function serveUseCases(deps: Deps): { stop(): Promise<void> } {
  const options = {
    queue,
    onError: (error: unknown) => deps.log.error({ err: error }, 'bus request failed'),
  };
  const context = (bus: BusContext, waitMs = deps.config.DEVICE_REPLY_TIMEOUT_MS): CommandContext => {
    const correlationId = bus.correlationId === '' ? randomUUID() : bus.correlationId;
    const timeoutMs = Math.min(waitMs, (bus.timeoutMs ?? waitMs) - returnTripMs);
    const log = deps.log.child({ requestId: correlationId });
    return { correlationId, log, deadlineAtMs: performance.now() + timeoutMs };
  };
  // The others send several commands: each has an id of its own.
  const named = (bus: BusContext): CommandContext => ({ ...context(bus), command: bus.command });
  const served = [
    serveUseCase(deps.bus, deviceApi.wakeUp, options, (body, bus) => wakeUp(deps, body, context(bus))),
    serveUseCase(deps.bus, deviceApi.sendControlCommand, options, (body, bus) =>
      sendControlCommand(deps, body, named(bus)),
    ),
    serveUseCase(deps.bus, deviceApi.sendText, options, (body, bus) => sendText(deps, body, named(bus))),
    serveUseCase(deps.bus, deviceApi.startLive, options, (body, bus) => startLive(deps, body, named(bus))),
    serveUseCase(deps.bus, deviceApi.controlLive, options, (body, bus) => controlLive(deps, body, named(bus))),
    serveUseCase(deps.bus, deviceApi.startPlayback, options, (body, bus) => startPlayback(deps, body, context(bus))),
    serveUseCase(deps.bus, deviceApi.controlPlayback, options, (body, bus) =>
      controlPlayback(deps, body, context(bus)),
    ),
    serveUseCase(deps.bus, deviceApi.listRecordings, options, async (body, bus) => {
      const wanted = { ...body, alarmFlags: BigInt(body.alarmFlags) };
      const { offset, recordings } = await listRecordings(deps, wanted, named(bus));
      return {
        cameraUtcOffset: offset,
        recordings: recordings.map((recording) => ({ ...recording, alarmFlags: String(recording.alarmFlags) })),
      };
    }),
    ...serveUploads(deps, options, context),
  ];
  return { stop: async () => void (await Promise.all(served.map((one) => one.stop()))) };
}
