import type { Logger } from '@fleet/service-kit';
import { ensureOwner } from '../domains/accounts/ensure-owner.ts';
import { ensureKey } from '../domains/api-keys/use-cases.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Config } from './config.ts';
import { ensureDemoFleet } from './demo-fleet.ts';

/** Creates the first owner, the account and the API key that the settings name. Existing records stay unchanged. */
export async function bootstrap(config: Config, records: RecordStore, log: Logger): Promise<void> {
  const email = config.BOOTSTRAP_OWNER_EMAIL;
  const password = config.BOOTSTRAP_OWNER_PASSWORD;
  if (email === undefined || password === undefined) return;
  const owner = await ensureOwner(records, { email, password, accountName: 'Fleet' });
  log.info({ created: owner.created, accountId: owner.user.accountId }, 'first owner exists');
  const demoImeis = config.BOOTSTRAP_DEMO_TERMINALS.split(',').filter((imei) => imei !== '');
  if (demoImeis.length > 0) await ensureDemoFleet({ records, log }, owner.user, demoImeis);
  if (config.BOOTSTRAP_API_KEY === undefined) return;
  const key = await ensureKey(records, config.BOOTSTRAP_API_KEY, {
    accountId: owner.user.accountId,
    name: 'bootstrap',
  });
  if (key.record.revokedAt !== null) log.warn({ keyId: key.record._id }, 'the key of BOOTSTRAP_API_KEY is revoked');
  else log.info({ created: key.created, keyId: key.record._id }, 'first API key exists');
}
