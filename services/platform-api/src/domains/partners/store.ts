import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { Partner } from './schema.ts';

export const partnersIn = (records: Records): AccountRecords<Partner> =>
  new AccountRecords<Partner>(records, 'partners', { unique: { tokenSha256: 'system' } });

/** Of whatever account: the token alone says which. */
export async function findPartnerByToken(records: Records, tokenSha256: string): Promise<Partner | null> {
  const partner = await records.findByUnique<Partner>('partners', 'tokenSha256', tokenSha256);
  return partner?.tokenSha256 === tokenSha256 ? partner : null;
}
