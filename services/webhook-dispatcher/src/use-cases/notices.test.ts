import { serve, tellOfWebhook } from '@fleet/bus';
import type { WebhookHealth } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { DispatcherWorld } from '../testing/world.ts';
import { Notices } from './notices.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let world: DispatcherWorld;
beforeAll(async () => {
  world = await DispatcherWorld.open();
});
afterAll(() => world.close());

/** What one replica tells with. */
const replica = (): Notices =>
  new Notices({
    bus: world.bus,
    records: world.records,
    health: {
      change: async (webhookId, change) => {
        const health = await world.records.health(webhookId);
        if (health !== null) await world.records.saveHealth(change(health));
      },
    },
    onError: (error) => {
      throw error;
    },
  });

const goOn = (): boolean => false;

describe('what the owner of a webhook is to be told', () => {
  it('is told by one of several replicas, however long that takes', async () => {
    const webhook = await world.webhook('https://127.0.0.1:1/');
    const notice = { percent: 50, reason: 'failing', failingSinceMs: 1, atMs: 2, vehicleId: 3 } as const;
    const health: WebhookHealth = { ...(await world.health(webhook)), noticedPercent: 50, dueNotice: notice };
    await world.records.saveHealth(health);
    let tellings = 0;
    let send: () => void = () => undefined;
    const sent = new Promise<void>((resolve) => {
      send = resolve;
    });
    const options = { queue: 'platform-api', onError: () => undefined };
    const teller = serve(world.bus, tellOfWebhook, options, async () => {
      tellings += 1;
      await sent;
      return { told: true };
    });
    await world.bus.nc.flush();
    const [one, other] = [replica(), replica()];
    const first = one.tellAll(goOn);
    await until(() => tellings === 1);
    // The mail is on its way while the other one looks, too.
    let isDone = false;
    const second = other.tellAll(goOn).finally(() => {
      isDone = true;
    });
    await until(() => isDone || tellings === 2);
    expect(tellings).toBe(1);
    send();
    await Promise.all([first, second]);
    await other.tellAll(goOn);
    expect(tellings).toBe(1);
    expect((await world.records.health(webhook._id))?.dueNotice).toBeNull();
    expect(await world.claims()).toBe(0);
    await teller.stop();
  });

  it('is told no more between two of them when the service stops', async () => {
    const notice = { percent: 50, reason: 'failing', failingSinceMs: 1, atMs: 2, vehicleId: 3 } as const;
    for (let count = 1; count <= 3; count += 1) {
      const webhook = await world.webhook('https://127.0.0.1:1/');
      await world.records.saveHealth({ ...(await world.health(webhook)), noticedPercent: 50, dueNotice: notice });
    }
    let tellings = 0;
    const options = { queue: 'platform-api', onError: () => undefined };
    const teller = serve(world.bus, tellOfWebhook, options, async () => {
      tellings += 1;
      return { told: true };
    });
    await world.bus.nc.flush();
    await replica().tellAll(() => tellings === 1);
    expect(tellings).toBe(1);
    await replica().tellAll(goOn);
    expect(tellings).toBe(3);
    await teller.stop();
  });
});
