import { AppError } from '@fleet/service-kit';
import { type UploadRepository, uploadUserName } from '@fleet/storage';
import { generatePassword, sha256Hex } from '../domain/credential.ts';

interface GrantDeps {
  readonly records: UploadRepository;
  readonly server: () => { readonly podId: string; readonly httpUrl: string };
  readonly address: () => { readonly host: string; readonly port: number };
  readonly credentialTtlMs: number;
  /** Returns the reason why no upload can be accepted now, or null. */
  readonly findStorageError: () => Promise<string | null>;
}

export interface Grant {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly path: string;
}

/**
 * Creates the credential of a reserved upload. Only its hash is stored, so that only the caller and the camera know it.
 */
export async function grantUpload(deps: GrantDeps, uploadId: string): Promise<Grant> {
  const storageError = await deps.findStorageError();
  if (storageError !== null) throw new AppError('unavailable', storageError);
  const password = generatePassword();
  const stored = await deps.records.set(uploadId, ['reserved'], {
    credential: { passwordSha256: sha256Hex(password), expiresAtMs: Date.now() + deps.credentialTtlMs },
    server: deps.server(),
  });
  if (stored === null) throw new AppError('not_found', 'There is no reservation for this upload.');
  return { ...deps.address(), username: uploadUserName(uploadId), password, path: '/' };
}
