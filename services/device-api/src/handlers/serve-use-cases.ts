import { randomUUID } from 'node:crypto';
import { type BusContext, broadcastVoice as broadcastUseCase, deviceApi, serveUseCase } from '@fleet/bus';
import type { CommandContext, Deps } from '../deps.ts';
import { controlLive } from '../use-cases/control-live.ts';
import { controlPlayback } from '../use-cases/control-playback.ts';
import { listRecordings } from '../use-cases/list-recordings.ts';
import { sendControlCommand } from '../use-cases/send-control-command.ts';
import { sendText } from '../use-cases/send-text.ts';
import { startLive } from '../use-cases/start-live.ts';
import { startPlayback } from '../use-cases/start-playback.ts';
import { broadcastVoice } from '../use-cases/talk/broadcast-voice.ts';
import { wakeUp } from '../use-cases/wake-up.ts';
import { serveUploads } from './serve-uploads.ts';

const queue = 'device-api';
/** The reply must reach its caller before the caller times out. */
const replyMarginMs = 250;
/** Shorter than that of commands: the voice follows within the time-out of the request. */
const broadcastReplyTimeoutMs = 25_000;

/** Serves the use cases over the bus for other services, which check credentials and rate limits themselves. */
export function serveUseCases(deps: Deps): { stop(): Promise<void> } {
  const options = {
    queue,
    onError: (error: unknown) => deps.log.error({ err: error }, 'bus request failed'),
  };
  const createContext = (bus: BusContext, waitMs = deps.config.DEVICE_REPLY_TIMEOUT_MS): CommandContext => {
    const correlationId = bus.correlationId === '' ? randomUUID() : bus.correlationId;
    const timeoutMs = Math.min(waitMs, (bus.timeoutMs ?? waitMs) - replyMarginMs);
    const log = deps.log.child({ requestId: correlationId });
    return { correlationId, log, deadlineAtMs: performance.now() + timeoutMs };
  };
  // The others send several commands: each has an id of its own.
  const createNamedContext = (bus: BusContext): CommandContext => ({ ...createContext(bus), command: bus.command });
  const servers = [
    serveUseCase(deps.bus, deviceApi.wakeUp, options, (body, bus) => wakeUp(deps, body, createContext(bus))),
    serveUseCase(deps.bus, deviceApi.sendControlCommand, options, (body, bus) =>
      sendControlCommand(deps, body, createNamedContext(bus)),
    ),
    serveUseCase(deps.bus, deviceApi.sendText, options, (body, bus) => sendText(deps, body, createNamedContext(bus))),
    serveUseCase(deps.bus, deviceApi.startLive, options, (body, bus) => startLive(deps, body, createNamedContext(bus))),
    serveUseCase(deps.bus, deviceApi.controlLive, options, (body, bus) =>
      controlLive(deps, body, createNamedContext(bus)),
    ),
    serveUseCase(deps.bus, deviceApi.startPlayback, options, (body, bus) =>
      startPlayback(deps, body, createContext(bus)),
    ),
    serveUseCase(deps.bus, deviceApi.controlPlayback, options, (body, bus) =>
      controlPlayback(deps, body, createContext(bus)),
    ),
    serveUseCase(deps.bus, deviceApi.listRecordings, options, async (body, bus) => {
      const request = { ...body, alarmFlags: BigInt(body.alarmFlags) };
      const { offset, recordings } = await listRecordings(deps, request, createNamedContext(bus));
      return {
        cameraUtcOffset: offset,
        recordings: recordings.map((recording) => ({ ...recording, alarmFlags: String(recording.alarmFlags) })),
      };
    }),
    serveUseCase(deps.bus, broadcastUseCase, options, (body, bus) =>
      broadcastVoice(deps, body, createContext(bus, broadcastReplyTimeoutMs)),
    ),
    ...serveUploads(deps, options, createContext),
  ];
  return { stop: async () => void (await Promise.all(servers.map((server) => server.stop()))) };
}
