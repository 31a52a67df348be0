import { AppError } from './errors.ts';

/** Returns the error for an API key that has none of the scopes of a request. */
export const scopeRequiredError = (scopes: readonly string[]): AppError =>
  new AppError('permission_denied', `The API key requires the scope ${scopes.join(' or ')}.`);

/** Returns the error for a request from an address outside the allowlist of the API key. */
export const addressNotAllowedError = (): AppError =>
  new AppError('permission_denied', 'The API key is not valid from this address.');

/** Returns the error for a user whose role lacks the permission for a request. */
export const roleNotPermittedError = (role: string): AppError =>
  new AppError('permission_denied', `The role ${role} does not allow this request.`);

/** Returns the error for a partner's command that the partner's `command_level` does not allow. */
export const commandLevelError = (): AppError =>
  new AppError('permission_denied', "The partner's command_level does not allow this command.");
