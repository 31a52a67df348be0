import { Encryption } from '@fleet/service-kit';
import { runTool } from './assembly/command-line.ts';
import { reencrypt } from './assembly/reencrypt.ts';

/** Encrypts stored secrets again with the first key of ENCRYPTION_KEY, so that former keys can be removed. */
await runTool(async (_records, database, { ENCRYPTION_KEY: encryptionKey }) => {
  const { reencryptedCount, unreadable } = await reencrypt(database, new Encryption(encryptionKey));
  if (unreadable.length > 0)
    throw new Error(
      `No key of ENCRYPTION_KEY decrypts ${unreadable.join(', ')}. Add the former keys and run this again.`,
    );
  return `${reencryptedCount} secrets were encrypted with the first key; former keys can be removed`;
});
