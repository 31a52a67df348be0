import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { healthy, kill, restarted, takeAway } from './testing/faults.ts';
import { countStatuses, Fleet } from './testing/fleet.ts';
import { until } from './testing/until.ts';
import { borrowWorld, type OwnWorld } from './testing/world.ts';

let world: OwnWorld;
let fleet: Fleet;
let services: Record<string, number>;

/** Processes that must not be touched by what happens to the database. */
const servicesNow = (): Record<string, number> => {
  const { mongodb: _mongodb, ...others } = world.product.runtime.processes;
  return others;
};

beforeAll(async () => {
  world = await borrowWorld();
  fleet = await Fleet.start(world, 5);
  services = servicesNow();
}, 180_000);

afterAll(() => world.stop(), 60_000);

describe('a database', () => {
  it('that is killed costs no command, and comes back by itself', async () => {
    const former = kill(world, 'mongodb');
    expect(countStatuses(await Promise.all(fleet.call(1)))).toEqual({ 200: 5 });
    await restarted(world, 'mongodb', former);
    await healthy(world);
    expect(servicesNow()).toEqual(services);
  }, 120_000);

  it('that stays away is what /health says, while terminals report and take commands', async () => {
    const outage = await takeAway(world, 'mongodb');
    const health = await until('/health to say so', async () => {
      const answer = await world.get('/health');
      return answer.status === 503 && answer;
    });
    expect(health.body).toMatchObject({
      healthy: false,
      components: {
        database: false,
        state_store: true,
        message_broker: true,
        jt808_server: true,
        jt1078_server: true,
      },
    });
    expect(countStatuses(await Promise.all(fleet.call(2, 3)))).toEqual({ 200: 10 });
    await fleet.haveReported();
    const [terminal] = fleet.terminals;
    expect(await world.get(`/health/device?imei=${terminal?.phone}`)).toMatchObject({ status: 200 });
    await outage.giveBack();
    expect(servicesNow()).toEqual(services);
  }, 120_000);
});
