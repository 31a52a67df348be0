import type { Scope } from '../../store/account-repository.ts';

type AccountHook = (account: Scope) => Promise<unknown>;

/** What the other domains do when an account is deleted; assembly fills it. Each function may run again after a failure. */
export interface AccountHooks {
  /** Immediately: revokes what grants access to the account without a session or a key. */
  readonly accessRevoked: readonly AccountHook[];
  /** For each user whom the deletion disabled: ends what the user started. */
  readonly userDisabled: readonly ((account: Scope, userId: number) => Promise<unknown>)[];
  /** After the users: ends the activities of the account. */
  readonly ended: readonly AccountHook[];
  /** After `ERASURE_DAYS`: removes files. Returns false if some could not be removed, and a job retries. */
  readonly filesRemoved: readonly ((account: Scope) => Promise<boolean>)[];
  /** After the files: erases personal fields that are not part of a collection with an account's id. */
  readonly erased: readonly AccountHook[];
}
