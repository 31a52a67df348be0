import type { Logger } from '@fleet/service-kit';
import type { Config } from './config.ts';
import { ensureDemoFleet } from './demo-fleet.ts';
import { ensureOwner } from './domains/accounts/ensure-owner.ts';
import { recordKey } from './domains/api-keys/use-cases.ts';
import type { Records } from './store/records.ts';

const retryMs = 1_000;

/** Makes the first owner, the account and the API key that the settings name; what is there already stays as it is. */
export async function bootstrap(config: Config, records: Records, log: Logger): Promise<void> {
  const email = config.BOOTSTRAP_OWNER_EMAIL;
  const password = config.BOOTSTRAP_OWNER_PASSWORD;
  if (email === undefined || password === undefined) return;
  const owner = await ensureOwner(records, { email, password, accountName: 'Fleet' });
  log.info({ created: owner.created, accountId: owner.user.accountId }, 'first owner is on record');
  const demoImeis = config.BOOTSTRAP_DEMO_TERMINALS.split(',').filter((imei) => imei !== '');
  if (demoImeis.length > 0) await ensureDemoFleet({ records, log }, owner.user, demoImeis);
  if (config.BOOTSTRAP_API_KEY === undefined) return;
  const key = await recordKey(records, config.BOOTSTRAP_API_KEY, {
    accountId: owner.user.accountId,
    name: 'bootstrap',
  });
  if (key.record.revokedAt !== null) log.warn({ keyId: key.record._id }, 'the key of BOOTSTRAP_API_KEY is revoked');
  else log.info({ created: key.created, keyId: key.record._id }, 'first API key is on record');
}

/** Repeats a piece of work until it succeeds once, so that a service may start before its database; `notYet` is logged each time that it does not. */
export class UntilDone {
  readonly #log: Logger;
  readonly #notYet: string;
  readonly #work: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #running: Promise<void> = Promise.resolve();
  isDone = false;

  constructor(log: Logger, notYet: string, work: () => Promise<void>) {
    this.#log = log;
    this.#notYet = notYet;
    this.#work = work;
    this.#running = this.#try();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #try(): Promise<void> {
    try {
      await this.#work();
      this.isDone = true;
    } catch (error) {
      this.#log.warn({ err: error }, this.#notYet);
      if (this.#stopped) return;
      this.#timer = setTimeout(() => {
        this.#running = this.#try();
      }, retryMs);
    }
  }
}
