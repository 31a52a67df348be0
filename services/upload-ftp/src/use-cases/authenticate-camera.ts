import type { UploadRecord, UploadRepository } from '@fleet/storage';
import { isPasswordValid, parseUploadId } from '../domain/credential.ts';
import { FtpError } from '../ftp/ftp-error.ts';

type LoginResult = { readonly kind: 'accepted'; readonly record: UploadRecord } | { readonly kind: 'refused' };
export type AuthenticateCamera = (username: string, password: string) => Promise<LoginResult>;

/** Statuses in which a credential allows a login. */
const openStatuses = ['reserved', 'uploading', 'paused'] as const;

const unknownUploadId = '0'.repeat(24);
const refusedLogin = { kind: 'refused' } as const;

/** Authenticates a login against the upload's record. Unknown and known names take the same path. */
export const createCameraAuthenticator =
  (records: UploadRepository, server: () => { readonly podId: string; readonly httpUrl: string }): AuthenticateCamera =>
  async (username, password) => {
    const record = await records.find(parseUploadId(username) ?? unknownUploadId);
    const hasValidPassword = isPasswordValid(password, record?.credential?.passwordSha256);
    if (!hasValidPassword || record === null || record.credential === null) return refusedLogin;
    const isOpen = openStatuses.some((status) => status === record.status);
    if (!isOpen || record.credential.expiresAtMs <= Date.now()) return refusedLogin;
    if (record.server?.podId === server().podId) return { kind: 'accepted', record };
    return { kind: 'accepted', record: await claimForPod(records, record, server()) };
  };

/**
 * Claims an upload for this pod when a load balancer has sent the camera here. Only an upload without data can be
 * claimed; otherwise its bytes are on the other pod.
 */
async function claimForPod(
  records: UploadRepository,
  record: UploadRecord,
  server: { readonly podId: string; readonly httpUrl: string },
): Promise<UploadRecord> {
  const claimed = record.filesize > 0 ? null : await records.finalize(record, { server, files: [], filename: null });
  if (claimed === null) throw new FtpError(421, 'This upload was started on another server');
  return claimed;
}
