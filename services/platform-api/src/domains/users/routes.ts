import {
  AppError,
  pageResponse,
  pageSchema,
  paginationQuery,
  parseIfMatch,
  parsePagination,
  parseSort,
  Reply,
  singleSchema,
  sortParameter,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import { type Role, roles } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import { idParams, nameEnum, nullable } from '../../platform/schemas.ts';
import { substringFilter } from '../../store/account-repository.ts';
import { type Invitation, sendInvitation } from '../auth/passwords.ts';
import { createUser, deleteUser, listUsers, updateUser } from './commands.ts';
import { email, language, password, personName, phoneNumber, timezone } from './fields.ts';
import type { UserHooks } from './hooks.ts';
import { inviteAgain } from './invite-again.ts';
import { createdUserSchema, toUserResponse, userSchema } from './responses.ts';
import { assignableRoles } from './rules.ts';
import type { User } from './schema.ts';
import { findUser } from './use-cases.ts';

const tags = ['Users'];
const access = { permission: 'administration' } as const;

const assignableRole = Type.Unsafe<Role>({
  type: 'string',
  enum: [...roles],
  description: "A role that the caller's role may assign; `x-roles-by-caller` lists them.",
  'x-roles-by-caller': assignableRoles,
});

const createBody = Type.Object({
  name: personName,
  email: Type.Optional(nullable(email)),
  phone_number: Type.Optional(nullable(phoneNumber)),
  role: assignableRole,
  password: Type.Optional(password),
  can_view_video: Type.Optional(Type.Boolean()),
  language: Type.Optional(language),
  timezone: Type.Optional(timezone),
});

const changeBody = Type.Object({
  name: Type.Optional(personName),
  email: Type.Optional(nullable(email)),
  phone_number: Type.Optional(nullable(phoneNumber)),
  role: Type.Optional(assignableRole),
  password: Type.Optional(password),
  current_password: Type.Optional(Type.String({ maxLength: 256 })),
  can_view_video: Type.Optional(Type.Boolean()),
  language: Type.Optional(language),
  timezone: Type.Optional(timezone),
  disabled: Type.Optional(Type.Boolean()),
  two_factor_enabled: Type.Optional(
    Type.Literal(false, { description: "Disables another user's two-factor log-in, for a lost phone." }),
  ),
});

const sortFields: Readonly<Record<string, string>> = {
  id: 'id',
  name: 'name',
  created_at: 'createdAt',
  last_login_at: 'lastLoginAt',
};

const found = (user: User | null) => {
  if (user === null) throw new AppError('not_found', 'There is no such user.');
  return { data: toUserResponse(user) };
};

// `hooks`: work of other domains after changes of a user.
export const userRoutes = (deps: Deps, hooks: UserHooks): PlatformRoute[] => [
  ...readRoutes(deps),
  ...writeRoutes(deps, hooks),
];

const readRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/users',
    operationId: 'listUsers',
    summary: 'List users',
    tags,
    access: { permission: 'fleet' },
    query: Type.Object({
      ...paginationQuery,
      sort: sortParameter(Object.keys(sortFields)),
      query: Type.Optional(Type.String({ maxLength: 100, description: 'Part of a name, e-mail or phone number.' })),
      role: Type.Optional(nameEnum(roles)),
    }),
    response: pageSchema(userSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const { field, direction } = parseSort(query.sort);
      const { items, total } = await listUsers(deps, getCaller(context), {
        where: {
          ...substringFilter(query.query, ['name', 'email', 'phoneNumber']),
          ...(query.role === undefined ? {} : { role: query.role }),
        },
        sorting: { field: sortFields[field] ?? 'id', direction },
        paging,
      });
      return pageResponse({ items: items.map(toUserResponse), total }, paging);
    },
  }),
  platformRoute({
    method: 'get',
    path: '/users/:id',
    operationId: 'getUser',
    summary: 'Get a user',
    tags,
    access: { permission: 'fleet' },
    params: idParams,
    response: singleSchema(userSchema),
    handle: async ({ params, context }) => found(await findUser(deps.records, getCaller(context), params.id)),
  }),
];

const writeRoutes = (deps: Deps, hooks: UserHooks): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/users',
    operationId: 'createUser',
    summary: 'Create a user',
    description: 'Requires `email`, `phone_number` or both. Without `password` an invitation is sent.',
    tags,
    access,
    isIdempotent: true,
    body: createBody,
    response: singleSchema(createdUserSchema),
    extraSuccesses: { 201: 'Created; `Location` is the path of the user.' },
    errors: { 409: 'The e-mail or phone number is taken.' },
    handle: async ({ body, context }) => created(deps, await createUser(deps, getCaller(context), body)),
  }),
  platformRoute({
    method: 'post',
    path: '/users/invite',
    operationId: 'inviteUser',
    summary: 'Invite a user',
    description:
      'Creates a user who sets the password with a token that is sent by e-mail. The token is valid for seven days.',
    tags,
    access,
    isIdempotent: true,
    body: Type.Object({ email, role: assignableRole, name: Type.Optional(personName) }),
    response: singleSchema(createdUserSchema),
    extraSuccesses: { 201: 'Created; `invitation` says whether the invitation was sent.' },
    errors: { 409: 'The e-mail is taken.' },
    handle: async ({ body, context }) =>
      created(deps, await createUser(deps, getCaller(context), { ...body, name: body.name ?? body.email })),
  }),
  platformRoute({
    method: 'post',
    path: '/users/:id/invite',
    operationId: 'inviteUserAgain',
    summary: 'Resend an invitation',
    description:
      'Sends another invitation to a user who has not accepted one. Earlier invitations become invalid. Limited to five per hour for each user.',
    tags,
    access,
    params: idParams,
    response: singleSchema(createdUserSchema),
    errors: { 409: 'The user has a password, has logged in, or is disabled.' },
    handle: async ({ params, context }) => {
      const { user, invitation } = await inviteAgain(deps, getCaller(context), params.id, context);
      return { data: { ...toUserResponse(user), invitation } };
    },
  }),
  platformRoute({
    method: 'put',
    path: '/users/:id',
    operationId: 'updateUser',
    summary: 'Update a user',
    description: 'All users may change their own name, language, time zone and password.',
    tags,
    access: { permission: 'self' },
    params: idParams,
    body: changeBody,
    response: singleSchema(userSchema),
    errors: {
      409: 'The e-mail or phone number is taken, or the user is the last owner of the account.',
      ...versionMismatchErrors,
    },
    handle: async ({ params, body, context }) =>
      found(await updateUser(deps, getCaller(context), params.id, body, hooks, parseIfMatch(context))),
  }),
  platformRoute({
    method: 'delete',
    path: '/users/:id',
    operationId: 'deleteUser',
    summary: 'Remove a user',
    description: 'Vehicles of the user pass to the first owner of the account.',
    tags,
    access,
    params: idParams,
    response: singleSchema(userSchema),
    errors: { 409: 'The user is the last owner of the account.', ...versionMismatchErrors },
    handle: async ({ params, context }) =>
      found(await deleteUser(deps, getCaller(context), params.id, hooks, parseIfMatch(context))),
  }),
];

async function created(deps: Deps, user: User): Promise<Reply> {
  const invited: { invitation?: Invitation } =
    user.passwordHash === null ? { invitation: await sendInvitation(deps, user) } : {};
  return new Reply(201, { data: { ...toUserResponse(user), ...invited } }, { Location: `/api/users/${user._id}` });
}
