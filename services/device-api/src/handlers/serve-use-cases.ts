import { randomUUID } from 'node:crypto';
import { type BusContext, deviceApi, serveUseCase } from '@fleet/bus';
import type { CommandContext, Deps } from '../deps.ts';
import { controlLive } from '../use-cases/control-live.ts';
import { sendControlCommand } from '../use-cases/send-control-command.ts';
import { sendText } from '../use-cases/send-text.ts';
import { startLive } from '../use-cases/start-live.ts';
import { wakeUp } from '../use-cases/wake-up.ts';

const queue = 'device-api';
/** The answer has to reach its caller before the caller gives up. */
const returnTripMs = 250;

/** Offers the use cases over the bus, to services of the house: credentials and rate limits are their callers' business. */
export function serveUseCases(deps: Deps): { stop(): Promise<void> } {
  const options = {
    queue,
    onError: (error: unknown) => deps.log.error({ err: error }, 'a request over the bus failed'),
  };
  const context = (bus: BusContext): CommandContext => {
    const correlationId = bus.correlationId === '' ? randomUUID() : bus.correlationId;
    const limitMs = deps.config.DEVICE_REPLY_TIMEOUT_MS;
    const timeoutMs = Math.min(limitMs, (bus.timeoutMs ?? limitMs) - returnTripMs);
    const log = deps.log.child({ requestId: correlationId });
    return { correlationId, log, deadlineAtMs: performance.now() + timeoutMs };
  };
  const served = [
    serveUseCase(deps.bus, deviceApi.wakeUp, options, (body, bus) => wakeUp(deps, body, context(bus))),
    serveUseCase(deps.bus, deviceApi.sendControlCommand, options, (body, bus) =>
      sendControlCommand(deps, body, context(bus)),
    ),
    serveUseCase(deps.bus, deviceApi.sendText, options, (body, bus) => sendText(deps, body, context(bus))),
    serveUseCase(deps.bus, deviceApi.startLive, options, (body, bus) => startLive(deps, body, context(bus))),
    serveUseCase(deps.bus, deviceApi.controlLive, options, (body, bus) => controlLive(deps, body, context(bus))),
  ];
  return { stop: async () => void (await Promise.all(served.map((one) => one.stop()))) };
}
