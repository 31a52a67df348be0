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
import type { Deps } from '../../platform/deps.ts';
import { trimmedText } from '../../platform/fields.ts';
import { idParams, nameEnum, nullable } from '../../platform/schemas.ts';
import { substringFilter } from '../../store/account-repository.ts';
import { type Invitation, sendInvitation } from '../auth/passwords.ts';
import { email, password, personName, phoneNumber, timezone } from '../users/fields.ts';
import {
  createCustomerAccount,
  findVisibleAccount,
  listAccessibleAccounts,
  updateAccountAsCaller,
} from './commands.ts';
import { deleteAccount } from './deletion.ts';
import type { AccountHooks } from './hooks.ts';
import { accountSchema, createdAccountSchema, toAccountResponse } from './responses.ts';
import { type Account, accountStatuses } from './schema.ts';
import { sendTestMail, testMailSchema } from './test-mail.ts';

const tags = ['Accounts'];
const access = { permission: 'accounts' } as const;

/** Location of the company, as stated by the company. */
const accountProperties = {
  city: Type.Optional(nullable(trimmedText(1, 100, { examples: ['Kochi'] }))),
  country: Type.Optional(nullable(trimmedText(2, 100, { examples: ['India'] }))),
};

const maxStreams = Type.Optional(
  nullable(
    Type.Integer({
      minimum: 0,
      maximum: 10_000,
      description: 'Limit on concurrent streams; null: the default of the installation. Only for accounts above.',
      examples: [100],
    }),
  ),
);

const createBody = Type.Object({
  name: personName,
  timezone: Type.Optional(timezone),
  ...accountProperties,
  max_streams: maxStreams,
  owner: Type.Object({
    name: personName,
    email: Type.Optional(nullable(email)),
    phone_number: Type.Optional(nullable(phoneNumber)),
    password: Type.Optional(password),
    role: Type.Optional(nameEnum(['owner', 'dealer'])),
  }),
});

const changeBody = Type.Object({
  name: Type.Optional(personName),
  timezone: Type.Optional(timezone),
  ...accountProperties,
  max_streams: maxStreams,
  status: Type.Optional(nameEnum(accountStatuses)),
});

const toFoundResponse = (account: Account | null) => {
  if (account === null) throw new AppError('not_found', 'The account does not exist.');
  return { data: toAccountResponse(account) };
};

export const accountRoutes = (deps: Deps, hooks: AccountHooks): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/accounts',
    operationId: 'openAccount',
    summary: 'Create a customer or sub-dealer account',
    description: 'Without `password`, the owner is invited.',
    tags,
    access,
    isIdempotent: true,
    body: createBody,
    response: singleSchema(createdAccountSchema),
    extraSuccesses: { 201: 'Created; `Location` is the path of the account.' },
    errors: { 409: 'The e-mail or phone number is taken, or too many dealers are above the account.' },
    handle: async ({ body, context }) => {
      const { account, user } = await createCustomerAccount(deps, getCaller(context), body);
      const invited: { invitation?: Invitation } =
        user.passwordHash === null ? { invitation: await sendInvitation(deps, user) } : {};
      const data = { ...toAccountResponse(account), ...invited };
      return new Reply(201, { data }, { Location: `/api/accounts/${account._id}` });
    },
  }),
  platformRoute({
    method: 'post',
    path: '/account/test-mail',
    operationId: 'sendTestMail',
    summary: 'Send a test mail to yourself',
    description: 'Sends one mail without retries. Limited to ten mails an hour per account.',
    tags,
    access: { permission: 'administration' },
    response: singleSchema(testMailSchema),
    errors: { 409: 'The caller has no e-mail address.' },
    handle: async ({ context }) => ({ data: await sendTestMail(deps, getCaller(context), context) }),
  }),
  platformRoute({
    method: 'get',
    path: '/accounts',
    operationId: 'listAccounts',
    summary: 'List customer and sub-dealer accounts',
    description: 'Returns the accounts below a dealer, or all accounts for the operator.',
    tags,
    access,
    query: Type.Object({
      ...paginationQuery,
      sort: sortParameter(['id', 'name']),
      query: Type.Optional(Type.String({ maxLength: 100, description: 'Part of a name, city or country.' })),
      status: Type.Optional(nameEnum(accountStatuses)),
    }),
    response: pageSchema(accountSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const where = {
        ...substringFilter(query.query, ['name', 'city', 'country']),
        ...(query.status === undefined ? {} : { status: query.status }),
      };
      const listOptions = { where, sorting: parseSort(query.sort), paging };
      const { items, total } = await listAccessibleAccounts(deps.records, getCaller(context), listOptions);
      return pageResponse({ items: items.map(toAccountResponse), total }, paging);
    },
  }),
  platformRoute({
    method: 'get',
    path: '/accounts/:id',
    operationId: 'getAccount',
    summary: 'Get an account',
    description: 'Returns your own account or an account below it.',
    tags,
    params: idParams,
    response: singleSchema(accountSchema),
    handle: async ({ params, context }) =>
      toFoundResponse(await findVisibleAccount(deps.records, getCaller(context), params.id)),
  }),
  platformRoute({
    method: 'put',
    path: '/accounts/:id',
    operationId: 'updateAccount',
    summary: 'Update an account',
    description:
      'Changes your own account or an account below it. Only an account above may change the `status`, to suspend or activate the account, and `max_streams`.',
    tags,
    access: { permission: 'self' },
    params: idParams,
    body: changeBody,
    response: singleSchema(accountSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, body, context }) =>
      toFoundResponse(await updateAccountAsCaller(deps, getCaller(context), params.id, body, parseIfMatch(context))),
  }),
  platformRoute({
    method: 'delete',
    path: '/accounts/:id',
    operationId: 'deleteAccount',
    summary: 'Delete your account',
    description:
      'Ends all sessions, API keys and share links immediately. Deletes the vehicles and releases their terminals. Removes personal fields within 30 days. The deletion cannot be undone.',
    tags,
    access: { permission: 'accountDeletion' },
    params: idParams,
    body: Type.Object({ confirm: nameEnum(['DELETE']) }),
    response: singleSchema(accountSchema),
    errors: { 409: 'The account still has accounts below it.', ...versionMismatchErrors },
    handle: async ({ params, context }) =>
      toFoundResponse(await deleteAccount(deps, hooks, getCaller(context), params.id, parseIfMatch(context))),
  }),
];
