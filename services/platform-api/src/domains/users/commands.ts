import { AppError, assertVersion, roleNotPermittedError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { isPermitted, type Role } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Change } from '../../store/account-repository.ts';
import { updateWithVersion } from '../../store/optimistic-retry.ts';
import { audit } from '../audit/use-cases.ts';
import { revokeResetTokens } from '../auth/passwords.ts';
import { publishAccessChanged, revokeSessionsOf } from '../sessions/use-cases.ts';
import { planErasure } from './erasure.ts';
import type { UserHooks } from './hooks.ts';
import { hashPassword, isPassword } from './passwords.ts';
import { assignableRoles, checkTimezone, newUser, readContact } from './rules.ts';
import type { User } from './schema.ts';
import { removeUserRecord, userCollection } from './store.ts';
import { changeUser, findUser, firstOwner, hasOtherOwner, recordUser } from './use-cases.ts';

type Parts = Pick<Deps, 'records' | 'bus' | 'log'>;

/** The fields of a user in a body. */
interface CreateUserInput {
  readonly name?: string | undefined;
  readonly email?: string | null | undefined;
  readonly phone_number?: string | null | undefined;
  readonly role?: Role | undefined;
  readonly password?: string | undefined;
  readonly can_view_video?: boolean | undefined;
  readonly language?: string | undefined;
  readonly timezone?: string | undefined;
}

/** The changes of a user in a body. */
interface UpdateUserInput extends CreateUserInput {
  readonly disabled?: boolean | undefined;
  /** Disables two-factor log-in. */
  readonly two_factor_enabled?: false | undefined;
  /** Required if users change their own password. */
  readonly current_password?: string | undefined;
}

const permissionDenied = (message: string): AppError => new AppError('permission_denied', message);

/** Throws unless the caller's role may assign a role, and so manage users who have it. */
export function assertCanAssignRole(caller: Caller, role: Role): void {
  if (!assignableRoles[caller.role].includes(role))
    throw permissionDenied(`The role ${caller.role} cannot give the role ${role}.`);
}

/** Creates a user of the caller's account. Without a password, an invitation must be sent. */
export async function createUser(
  deps: Parts,
  caller: Caller,
  given: CreateUserInput & { name: string; role: Role },
): Promise<User> {
  assertCanAssignRole(caller, given.role);
  checkTimezone(given.timezone);
  const user = newUser({
    name: given.name,
    ...readContact(given),
    role: given.role,
    passwordHash: given.password === undefined ? null : await hashPassword(given.password),
    ...buildSettings(given),
  });
  const made = await recordUser(deps.records, caller, user);
  await audit(deps, caller, 'users.create', { type: 'users', id: made._id }, { role: made.role });
  return made;
}

const buildSettings = ({ can_view_video: canViewVideo, language, timezone }: CreateUserInput): Change<User> => ({
  ...(canViewVideo === undefined ? {} : { canViewVideo }),
  ...(language === undefined ? {} : { language }),
  ...(timezone === undefined ? {} : { timezone }),
});

/** Fields that users may change themselves, whatever their role. */
const ownFields = new Set(['name', 'language', 'timezone', 'password', 'current_password']);

/**
 * Updates a user; returns null if the user does not exist. Users may change some of their own fields, administrators
 * all users that are not above them. The change applies to the version that was checked, not to a user who has become
 * an owner since.
 */
export const updateUser = (
  deps: Parts & Pick<Deps, 'database' | 'mails'>,
  caller: Caller,
  id: number,
  given: UpdateUserInput,
  hooks: Pick<UserHooks, 'changed'>,
  expectedVersion?: number,
): Promise<User | null> =>
  updateWithVersion(expectedVersion, () => updateUserOnce(deps, caller, id, given, hooks, expectedVersion));

async function updateUserOnce(
  deps: Parts & Pick<Deps, 'database' | 'mails'>,
  caller: Caller,
  id: number,
  given: UpdateUserInput,
  hooks: Pick<UserHooks, 'changed'>,
  expectedVersion?: number,
): Promise<User | null> {
  const user = await findUser(deps.records, caller, id);
  if (user === null) return null;
  const isSelf = id === caller.userId;
  const isOwnBusiness = isSelf && Object.keys(given).every((field) => ownFields.has(field));
  if (!isOwnBusiness) assertCanEdit(caller, user, given);
  checkTimezone(given.timezone);
  const change = await buildUserChange(user, given, isSelf);
  const changed = await updateKeepingLastOwner(deps, caller, user, change, expectedVersion ?? user.version);
  if (changed === null) return null;
  // Done first: if a later step fails, the old sessions are revoked already.
  if (revokesSessions(change)) await revokeSessionsOf(deps, changed, isSelf ? caller.sessionId : null);
  else publishAccessChanged(deps, { userId: id });
  if (change.passwordHash !== undefined || contactAddress(changed) !== contactAddress(user))
    await revokeResetTokens(deps, user);
  for (const hook of hooks.changed) await hook(changed);
  await audit(deps, caller, 'users.update', { type: 'users', id }, { fields: Object.keys(given) });
  return changed;
}

/** Returns the address to which invitations and password reset links are sent. */
const contactAddress = ({ email, phoneNumber }: User): string | null => email ?? phoneNumber;

/** Returns true for changes that remove access and so end sessions. A change of the role only reloads the user. */
const revokesSessions = (change: Change<User>): boolean =>
  change.disabled === true || change.passwordHash !== undefined;

function assertCanEdit(caller: Caller, user: User, given: UpdateUserInput): void {
  if (!isPermitted(caller.role, 'administration')) throw roleNotPermittedError(caller.role);
  assertCanAssignRole(caller, user.role);
  if (given.role !== undefined) assertCanAssignRole(caller, given.role);
}

async function buildUserChange(user: User, given: UpdateUserInput, isSelf: boolean): Promise<Change<User>> {
  const { name, role, disabled, password } = given;
  const hasContact = given.email !== undefined || given.phone_number !== undefined;
  if (given.two_factor_enabled === false && isSelf)
    throw permissionDenied('Disable your own two-factor log-in with a code, or let another administrator do it.');
  const contact = {
    email: given.email === undefined ? user.email : given.email,
    phone_number: given.phone_number === undefined ? user.phoneNumber : given.phone_number,
  };
  if (password !== undefined && isSelf && !(await isPassword(user.passwordHash, given.current_password ?? '')))
    throw permissionDenied('The current password is missing or wrong.');
  return {
    ...(name === undefined ? {} : { name }),
    ...(role === undefined ? {} : { role }),
    ...(disabled === undefined ? {} : { disabled }),
    ...(given.two_factor_enabled === undefined ? {} : { totp: null }),
    ...(password === undefined ? {} : { passwordHash: await hashPassword(password) }),
    ...(hasContact ? buildContactChange(user, contact) : {}),
    ...buildSettings(given),
  };
}

// A new phone number is not verified.
function buildContactChange(user: User, given: Parameters<typeof readContact>[0]): Change<User> {
  const contact = readContact(given);
  return { ...contact, ...(contact.phoneNumber === user.phoneNumber ? {} : { phoneVerifiedAt: null }) };
}

const isActiveOwner = (user: Pick<User, 'role' | 'disabled'>): boolean => user.role === 'owner' && !user.disabled;

const lastOwner = (): AppError =>
  new AppError('in_use', 'The last owner of an account cannot be removed, demoted or disabled.');

/**
 * Updates a user. Throws 409 `in_use` if the account would have no owner left. This is checked before the change, so
 * that nothing is written, and after it, which then reverts the change. If two owners demote each other concurrently,
 * at least one sees the other's change.
 */
async function updateKeepingLastOwner(
  deps: Parts,
  caller: Caller,
  user: User,
  change: Change<User>,
  expectedVersion?: number,
): Promise<User | null> {
  const removesOwner = isActiveOwner(user) && !isActiveOwner({ ...user, ...change });
  if (removesOwner) {
    assertVersion(user, expectedVersion);
    if (!(await hasOtherOwner(deps.records, caller, user._id))) throw lastOwner();
  }
  const changed = await changeUser(deps.records, caller, user._id, change, expectedVersion);
  if (changed === null || !removesOwner || (await firstOwner(deps.records, caller)) !== null) return changed;
  await revertChange(deps, caller, user, change);
  throw lastOwner();
}

/** Fields that another user may have taken concurrently, and those that depend on them. */
const contactFields = new Set(['email', 'phoneNumber', 'phoneVerifiedAt']);

/**
 * Reverts a change. E-mail and phone number are reverted last: another user may have taken them, and the account must
 * get its owner back.
 */
async function revertChange(deps: Parts, caller: Caller, user: User, change: Change<User>): Promise<void> {
  const before = Object.keys(change).map((field) => [field, user[field as keyof User]] as const);
  const contact = before.filter(([field]) => contactFields.has(field));
  const others = before.filter(([field]) => !contactFields.has(field));
  await changeUser(deps.records, caller, user._id, Object.fromEntries(others));
  if (contact.length > 0) await changeUser(deps.records, caller, user._id, Object.fromEntries(contact));
}

/** Removes a user, whose property passes to the account's first owner. Returns the removed user, or null. */
export async function deleteUser(
  deps: Deps,
  caller: Caller,
  id: number,
  hooks: Pick<UserHooks, 'deleted'>,
  expectedVersion?: number,
): Promise<User | null> {
  // Disabled first, so that the check of the last owner holds and the user creates nothing new in the process.
  const user = await updateWithVersion(expectedVersion, async () => {
    const known = await findUser(deps.records, caller, id);
    if (known === null) return null;
    assertCanAssignRole(caller, known.role);
    return (
      (await updateKeepingLastOwner(deps, caller, known, { disabled: true }, expectedVersion ?? known.version)) && known
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

/** Returns a page of the users of an account. */
export const listUsers = (
  deps: Pick<Deps, 'records'>,
  caller: Caller,
  query: Parameters<ReturnType<typeof userCollection>['list']>[1],
) => userCollection(deps.records).list(caller, query);
