import { AppError, assertVersion } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { isPermitted, type Role } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Change } from '../../store/account-repository.ts';
import { updateWithVersion } from '../../store/optimistic-retry.ts';
import { audit } from '../audit/use-cases.ts';
import { revokeResetTokens } from '../auth/passwords.ts';
import { revokeSessionsOf, tellAccessChanged } from '../sessions/use-cases.ts';
import { planErasure } from './erasure.ts';
import type { UserHooks } from './hooks.ts';
import { hashPassword, isPassword } from './passwords.ts';
import { checkTimezone, givenBy, newUser, readContact } from './rules.ts';
import type { User } from './schema.ts';
import { removeUserRecord, usersIn } from './store.ts';
import { changeUser, findUser, firstOwner, hasOtherOwner, recordUser } from './use-cases.ts';

type Parts = Pick<Deps, 'records' | 'bus' | 'log'>;

/** What a body says of a user. */
export interface GivenUser {
  readonly name?: string | undefined;
  readonly email?: string | null | undefined;
  readonly phone_number?: string | null | undefined;
  readonly role?: Role | undefined;
  readonly password?: string | undefined;
  readonly can_view_video?: boolean | undefined;
  readonly language?: string | undefined;
  readonly timezone?: string | undefined;
}

/** What a body changes of a user. */
export interface GivenChange extends GivenUser {
  readonly disabled?: boolean | undefined;
  /** Asked for where users change their own password. */
  readonly current_password?: string | undefined;
}

const refuse = (message: string): AppError => new AppError('permission_denied', message);

/** Throws unless the caller's role may give a role, and so manage users who have it. */
export function checkMayGive(caller: Caller, role: Role): void {
  if (!givenBy[caller.role].includes(role)) throw refuse(`The role ${caller.role} cannot give the role ${role}.`);
}

/** Makes a user of the caller's account; without a password there is an invitation to be sent. */
export async function makeUser(
  deps: Parts,
  caller: Caller,
  given: GivenUser & { name: string; role: Role },
): Promise<User> {
  checkMayGive(caller, given.role);
  checkTimezone(given.timezone);
  const user = newUser({
    name: given.name,
    ...readContact(given),
    role: given.role,
    passwordHash: given.password === undefined ? null : await hashPassword(given.password),
    ...settingsOf(given),
  });
  const made = await recordUser(deps.records, caller, user);
  await audit(deps, caller, 'users.create', { type: 'users', id: made._id }, { role: made.role });
  return made;
}

const settingsOf = ({ can_view_video: canViewVideo, language, timezone }: GivenUser): Change<User> => ({
  ...(canViewVideo === undefined ? {} : { canViewVideo }),
  ...(language === undefined ? {} : { language }),
  ...(timezone === undefined ? {} : { timezone }),
});

/** Fields that users may change of themselves, whatever their role. */
const ownFields = new Set(['name', 'language', 'timezone', 'password', 'current_password']);

/**
 * Changes a user; null where there is none. Users change themselves in part, administrators all that are not above them: whom the check was of, and not who has become an
 * owner since.
 */
export const editUser = (
  deps: Parts & Pick<Deps, 'database' | 'mails'>,
  caller: Caller,
  id: number,
  given: GivenChange,
  hooks: Pick<UserHooks, 'changed'>,
  expectedVersion?: number,
): Promise<User | null> =>
  updateWithVersion(expectedVersion, () => editUserOnce(deps, caller, id, given, hooks, expectedVersion));

async function editUserOnce(
  deps: Parts & Pick<Deps, 'database' | 'mails'>,
  caller: Caller,
  id: number,
  given: GivenChange,
  hooks: Pick<UserHooks, 'changed'>,
  expectedVersion?: number,
): Promise<User | null> {
  const user = await findUser(deps.records, caller, id);
  if (user === null) return null;
  const isSelf = id === caller.userId;
  const isOwnBusiness = isSelf && Object.keys(given).every((field) => ownFields.has(field));
  if (!isOwnBusiness) checkMayEdit(caller, user, given);
  checkTimezone(given.timezone);
  const change = await changeOf(user, given, isSelf);
  const changed = await changeKeepingAnOwner(deps, caller, user, change, expectedVersion ?? user.version);
  if (changed === null) return null;
  // First: whatever fails behind it, the old sessions are gone.
  if (endsSessions(change)) await revokeSessionsOf(deps, changed, isSelf ? caller.sessionId : null);
  else tellAccessChanged(deps, { userId: id });
  if (change.passwordHash !== undefined || reachedAt(changed) !== reachedAt(user)) await revokeResetTokens(deps, user);
  for (const hook of hooks.changed) await hook(changed);
  await audit(deps, caller, 'users.update', { type: 'users', id }, { fields: Object.keys(given) });
  return changed;
}

/** Where invitations and links to a new password go. */
const reachedAt = ({ email, phoneNumber }: User): string | null => email ?? phoneNumber;

/** What takes access away ends sessions; another role is only looked up again. */
const endsSessions = (change: Change<User>): boolean => change.disabled === true || change.passwordHash !== undefined;

function checkMayEdit(caller: Caller, user: User, given: GivenChange): void {
  if (!isPermitted(caller.role, 'administration')) throw refuse(`The role ${caller.role} does not allow this.`);
  checkMayGive(caller, user.role);
  if (given.role !== undefined) checkMayGive(caller, given.role);
}

async function changeOf(user: User, given: GivenChange, isSelf: boolean): Promise<Change<User>> {
  const { name, role, disabled, password } = given;
  const hasContact = given.email !== undefined || given.phone_number !== undefined;
  const contact = {
    email: given.email === undefined ? user.email : given.email,
    phone_number: given.phone_number === undefined ? user.phoneNumber : given.phone_number,
  };
  if (password !== undefined && isSelf && !(await isPassword(user.passwordHash, given.current_password ?? '')))
    throw refuse('The current password is required, and was not right.');
  return {
    ...(name === undefined ? {} : { name }),
    ...(role === undefined ? {} : { role }),
    ...(disabled === undefined ? {} : { disabled }),
    ...(password === undefined ? {} : { passwordHash: await hashPassword(password) }),
    ...(hasContact ? changedContact(user, contact) : {}),
    ...settingsOf(given),
  };
}

/** Another number is one that nobody has shown to have. */
function changedContact(user: User, given: Parameters<typeof readContact>[0]): Change<User> {
  const contact = readContact(given);
  return { ...contact, ...(contact.phoneNumber === user.phoneNumber ? {} : { phoneVerifiedAt: null }) };
}

const isActiveOwner = (user: Pick<User, 'role' | 'disabled'>): boolean => user.role === 'owner' && !user.disabled;

const lastOwner = (): AppError =>
  new AppError('in_use', 'The last owner of an account cannot be removed, demoted or disabled.');

/**
 * 409 `in_use` for what would leave an account without an owner. Looked at before, so that nothing is written, and again after the change, which is taken back then:
 * of two owners who demote each other at the same time, one at least sees the other's change.
 */
async function changeKeepingAnOwner(
  deps: Parts,
  caller: Caller,
  user: User,
  change: Change<User>,
  expectedVersion?: number,
): Promise<User | null> {
  const isToGo = isActiveOwner(user) && !isActiveOwner({ ...user, ...change });
  if (isToGo) {
    assertVersion(user, expectedVersion);
    if (!(await hasOtherOwner(deps.records, caller, user._id))) throw lastOwner();
  }
  const changed = await changeUser(deps.records, caller, user._id, change, expectedVersion);
  if (changed === null || !isToGo || (await firstOwner(deps.records, caller)) !== null) return changed;
  await takeBack(deps, caller, user, change);
  throw lastOwner();
}

/** What somebody else may have taken meanwhile, and what hangs on it. */
const contactFields = new Set(['email', 'phoneNumber', 'phoneVerifiedAt']);

/** The old e-mail and number come last: they may be somebody else's by now, and the account must have its owner again. */
async function takeBack(deps: Parts, caller: Caller, user: User, change: Change<User>): Promise<void> {
  const before = Object.keys(change).map((field) => [field, user[field as keyof User]] as const);
  const contact = before.filter(([field]) => contactFields.has(field));
  const others = before.filter(([field]) => !contactFields.has(field));
  await changeUser(deps.records, caller, user._id, Object.fromEntries(others));
  if (contact.length > 0) await changeUser(deps.records, caller, user._id, Object.fromEntries(contact));
}

/** Removes a user; what the user owned passes to the account's first owner. The user as it was, or null. */
export async function removeUser(
  deps: Deps,
  caller: Caller,
  id: number,
  hooks: Pick<UserHooks, 'deleted'>,
  expectedVersion?: number,
): Promise<User | null> {
  // First without access, so that the check of the last owner holds and nothing new is made meanwhile.
  const user = await updateWithVersion(expectedVersion, async () => {
    const known = await findUser(deps.records, caller, id);
    if (known === null) return null;
    checkMayGive(caller, known.role);
    return (
      (await changeKeepingAnOwner(deps, caller, known, { disabled: true }, expectedVersion ?? known.version)) && known
    );
  });
  if (user === null) return null;
  await revokeSessionsOf(deps, user);
  await deps.mails.cancel(id);
  const heir = await firstOwner(deps.records, caller);
  if (heir !== null) for (const hook of hooks.deleted) await hook(user, heir);
  await planErasure(deps, user);
  await removeUserRecord(deps.records, caller, id);
  await audit(deps, caller, 'users.delete', { type: 'users', id }, { role: user.role });
  return user;
}

/** Users of an account, as the list shows them. */
export const listUsers = (
  deps: Pick<Deps, 'records'>,
  caller: Caller,
  query: Parameters<ReturnType<typeof usersIn>['list']>[1],
) => usersIn(deps.records).list(caller, query);
