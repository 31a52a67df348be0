import type { UploadRecord, UploadRecords } from '@fleet/storage';
import { isPasswordOf, uploadOfUserName } from '../domain/credential.ts';
import { FtpError } from '../ftp/ftp-error.ts';

export type LoginVerdict = { readonly kind: 'accepted'; readonly record: UploadRecord } | { readonly kind: 'refused' };
export type LogIn = (username: string, password: string) => Promise<LoginVerdict>;

/** Statuses in which a credential opens its directory. */
export const openStatuses = ['reserved', 'uploading', 'paused'] as const;

const nobody = '0'.repeat(24);
const refused = { kind: 'refused' } as const;

/** Judges a login by the upload's record; a name that does not exist takes the same way as one that does. */
export const logInWith =
  (records: UploadRecords, server: () => { readonly podId: string; readonly httpUrl: string }): LogIn =>
  async (username, password) => {
    const record = await records.find(uploadOfUserName(username) ?? nobody);
    const isRight = isPasswordOf(password, record?.credential?.passwordSha256);
    if (!isRight || record === null || record.credential === null) return refused;
    const isOpen = openStatuses.some((status) => status === record.status);
    if (!isOpen || record.credential.expiresAtMs <= Date.now()) return refused;
    if (record.server?.podId === server().podId) return { kind: 'accepted', record };
    return { kind: 'accepted', record: await takeOver(records, record, server()) };
  };

/** A camera that a load balancer has brought to another pod begins there, as long as it has sent nothing; otherwise its bytes are where they are. */
async function takeOver(
  records: UploadRecords,
  record: UploadRecord,
  server: { readonly podId: string; readonly httpUrl: string },
): Promise<UploadRecord> {
  const taken = record.filesize > 0 ? null : await records.conclude(record, { server, files: [], filename: null });
  if (taken === null) throw new FtpError(421, 'This upload has begun at another server');
  return taken;
}
