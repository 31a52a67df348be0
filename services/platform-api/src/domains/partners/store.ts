import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Partner } from './schema.ts';

export const partnerCollection = (records: RecordStore): AccountRepository<Partner> =>
  new AccountRepository<Partner>(records, 'partners', { unique: { tokenSha256: 'system' } });

/** Finds a partner of any account: the token alone identifies it. */
export async function findPartnerByToken(records: RecordStore, tokenSha256: string): Promise<Partner | null> {
  const partner = await records.findByUnique<Partner>('partners', 'tokenSha256', tokenSha256);
  return partner?.tokenSha256 === tokenSha256 ? partner : null;
}
