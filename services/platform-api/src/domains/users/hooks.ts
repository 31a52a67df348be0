import type { User } from './schema.ts';

/** What the other domains do when users change; assembly fills it. Each function may run again after a failure. */
export interface UserHooks {
  /** After a change of a user who may have lost permissions: ends what works without a session. */
  readonly changed: readonly ((user: User) => Promise<unknown>)[];
  /** Before a user is deleted: passes records to the account's first owner, or removes them. */
  readonly deleted: readonly ((user: User, heir: User) => Promise<unknown>)[];
}

/** Erases the personal data of one domain about a deleted user. */
export type UserEraser = (user: { readonly accountId: number; readonly userId: number }) => Promise<unknown>;
