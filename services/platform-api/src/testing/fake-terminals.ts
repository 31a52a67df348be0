import { randomInt } from 'node:crypto';
import {
  commandSent,
  commandSentSubject,
  type DeviceCommand,
  DeviceCommandServer,
  type IncomingCommand,
  type Outcome,
  publish,
} from '@fleet/bus';
import { claimDevice, heartbeatGateway, releaseDevice } from '@fleet/storage';
import type { Deps } from '../platform/deps.ts';

/** Returns a number that no other test uses, because Redis is shared. */
export const newImei = (): string => `9${String(randomInt(1e11)).padStart(11, '0')}`;

/** Responds to a command. A promise that never settles stands for no response. */
type CommandHandler = (command: DeviceCommand, incoming: IncomingCommand) => Promise<Outcome>;

/** Returns the outcome of a general response with a result. */
export const generalResponse = (result: number, commandMessageId = 0x8103): Outcome => ({
  kind: 'answered',
  answer: { commandMessageId, commandSerialNo: 7, result, message: null },
});

/** Fakes a gateway pod with terminals: their state in Redis, and the subscription to their commands. */
export class FakeTerminals {
  readonly seen: IncomingCommand[] = [];
  readonly #deps: Pick<Deps, 'bus' | 'redis'>;
  readonly #podId = `test-pod-${randomInt(1e9)}`;
  readonly #sessions = new Map<string, string>();
  readonly #server: DeviceCommandServer;
  readonly #renewal: NodeJS.Timeout;
  respond: CommandHandler = async () => generalResponse(0);
  /** Outcomes of the next commands, which end without a sent frame. */
  readonly unsent: Outcome[] = [];

  constructor(deps: Pick<Deps, 'bus' | 'redis'>) {
    this.#deps = deps;
    this.#server = new DeviceCommandServer(deps.bus, {
      handler: (incoming) => {
        this.seen.push(incoming);
        const unsent = this.unsent.shift();
        if (unsent !== undefined) return Promise.resolve(unsent);
        const { imei, commandId } = incoming;
        const sent = { imei, commandId, messageId: 0x8103, serialNo: 7 };
        publish(deps.bus, commandSent, sent, commandSentSubject(imei));
        return this.respond(incoming.command, incoming);
      },
      onError: () => undefined,
    });
    this.#renewal = setInterval(() => void heartbeatGateway(deps.redis, this.#podId), 2_000);
  }

  async connect(imei: string): Promise<void> {
    const { redis, bus } = this.#deps;
    const sessionId = `${imei}-session-${randomInt(1e9)}`;
    this.#sessions.set(imei, sessionId);
    await heartbeatGateway(redis, this.#podId);
    this.#server.subscribe(imei);
    await bus.nc.flush();
    const now = Date.now();
    const times = { onlineSinceMs: now, lastSeenMs: now };
    const state = { sessionId, podId: this.#podId, phone: imei, edition: '2013', ...times } as const;
    await claimDevice(redis, imei, { ...state, remoteAddress: '127.0.0.1' }, 0);
  }

  async disconnect(imei: string): Promise<void> {
    const sessionId = this.#sessions.get(imei);
    if (sessionId !== undefined) await releaseDevice(this.#deps.redis, imei, sessionId);
  }

  async close(): Promise<void> {
    clearInterval(this.#renewal);
    for (const imei of this.#sessions.keys()) await this.disconnect(imei);
    await this.#server.stop();
  }
}
