import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { headers, type Msg } from 'nats';
import type { Bus } from './connection.ts';
import { encodeJson, headerNames } from './contract.ts';
import type { Outcome } from './device-command.ts';
import { DeviceCommandServer } from './device-command-server.ts';
import { replyWith } from './testing/device-replies.ts';

/** A bus with nothing but the subscription, so that time can be faked. */
function fakeBus(): { bus: Bus; deliver: (commandId: string, timeoutMs: number, replies: Outcome[]) => void } {
  let callback: ((error: Error | null, message: Msg) => void) | undefined;
  const subscription = { isClosed: () => true };
  const nc = {
    isClosed: () => false,
    subscribe: (_subject: string, options: { callback: typeof callback }) => {
      callback = options.callback;
      return subscription;
    },
  };
  const deliver = (commandId: string, timeoutMs: number, replies: Outcome[]): void => {
    const head = headers();
    head.set(headerNames.commandId, commandId);
    head.set(headerNames.timeoutMs, String(timeoutMs));
    const respond = (data: Uint8Array) => replies.push(JSON.parse(Buffer.from(data).toString()) as Outcome) > 0;
    callback?.(null, { headers: head, data: encodeJson({ kind: 'wakeUp' }), respond } as unknown as Msg);
  };
  return { bus: { nc } as unknown as Bus, deliver };
}

describe('reply cache of a command server', () => {
  const commandId = '0'.repeat(32);
  let handled: number;
  let server: DeviceCommandServer;
  let deliver: ReturnType<typeof fakeBus>['deliver'];
  let respondWith: () => Promise<Outcome>;

  beforeEach(() => {
    jest.useFakeTimers();
    handled = 0;
    const fake = fakeBus();
    deliver = fake.deliver;
    respondWith = async () => replyWith(handled);
    server = new DeviceCommandServer(fake.bus, {
      handler: () => {
        handled += 1;
        return respondWith();
      },
      onError: () => undefined,
    });
    server.subscribe('138');
  });
  afterEach(async () => {
    await server.stop();
    jest.useRealTimers();
  });

  it('replies to a retry from its cache for 120 s after the reply', async () => {
    const replies: Outcome[] = [];
    deliver(commandId, 90_000, replies);
    await jest.advanceTimersByTimeAsync(119_000);
    deliver(commandId, 1_000, replies);
    expect(replies).toEqual([replyWith(1), replyWith(1)]);
    await jest.advanceTimersByTimeAsync(12_000);
    deliver(commandId, 1_000, replies);
    await jest.advanceTimersByTimeAsync(0);
    expect(handled).toBe(2);
  });

  it('replies once to every joined request', async () => {
    let release: (() => void) | undefined;
    respondWith = async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return replyWith(9);
    };
    const replies: Outcome[] = [];
    deliver(commandId, 90_000, replies);
    deliver(commandId, 87_000, replies);
    await jest.advanceTimersByTimeAsync(0);
    expect([server.inFlight, replies.length]).toEqual([1, 0]);
    release?.();
    await jest.advanceTimersByTimeAsync(0);
    expect(replies).toEqual([replyWith(9), replyWith(9)]);
    expect([server.inFlight, handled]).toEqual([0, 1]);
  });

  it('drops a command whose handler never replies once no caller can wait for it', async () => {
    respondWith = () => new Promise(() => undefined);
    deliver(commandId, 90_000, []);
    expect(server.inFlight).toBe(1);
    await jest.advanceTimersByTimeAsync(200_000);
    expect(server.inFlight).toBe(1);
    await jest.advanceTimersByTimeAsync(20_000);
    expect(server.inFlight).toBe(0);
  });
});
