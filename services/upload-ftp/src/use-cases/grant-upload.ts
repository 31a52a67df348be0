import { AppError } from '@fleet/service-kit';
import { type UploadRecords, uploadUserName } from '@fleet/storage';
import { newPassword, sha256Hex } from '../domain/credential.ts';

export interface GrantParts {
  readonly records: UploadRecords;
  readonly server: () => { readonly podId: string; readonly httpUrl: string };
  readonly address: () => { readonly host: string; readonly port: number };
  readonly credentialMs: number;
  /** Why no upload can be taken now, if so. */
  readonly obstacle: () => Promise<string | null>;
}

export interface Grant {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly path: string;
}

/** Makes the credential of a reserved upload; only its hash is stored, so it is known to the asker and the camera alone. */
export async function grant(parts: GrantParts, uploadId: string): Promise<Grant> {
  const obstacle = await parts.obstacle();
  if (obstacle !== null) throw new AppError('unavailable', obstacle);
  const password = newPassword();
  const stored = await parts.records.set(uploadId, ['reserved'], {
    credential: { passwordSha256: sha256Hex(password), expiresAtMs: Date.now() + parts.credentialMs },
    server: parts.server(),
  });
  if (stored === null) throw new AppError('not_found', 'There is no reservation of this upload.');
  return { ...parts.address(), username: uploadUserName(uploadId), password, path: '/' };
}
