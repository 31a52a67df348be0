import {
  AppError,
  expectedVersion,
  oneOf,
  otherVersion,
  pageEnvelope,
  pageOf,
  pagingQuery,
  Reply,
  readPaging,
  readSorting,
  sortParameter,
} from '@fleet/service-kit';
import { Type } from 'typebox';
import { callerOf } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../deps.ts';
import { trimmedText } from '../../fields.ts';
import { idParams, nameOf, nullable } from '../../schemas.ts';
import { matching } from '../../store/account-records.ts';
import { type Invitation, sendInvitation } from '../auth/passwords.ts';
import { email, password, personName, phoneNumber, timezone } from '../users/fields.ts';
import { deleteAccount } from './deletion.ts';
import { editAccount, listBelow, openCustomerAccount, visibleAccount } from './manage.ts';
import { type Account, accountStatuses } from './schema.ts';
import { accountSchema, openedAccountSchema, shownAccount } from './shown.ts';
import { sendTestMail, testMailSchema } from './test-mail.ts';

const tags = ['Accounts'];
const access = { permission: 'accounts' } as const;

/** Where a company is, as it says. */
const place = {
  city: Type.Optional(nullable(trimmedText(1, 100, { examples: ['Kochi'] }))),
  country: Type.Optional(nullable(trimmedText(2, 100, { examples: ['India'] }))),
};

const openBody = Type.Object({
  name: personName,
  timezone: Type.Optional(timezone),
  ...place,
  owner: Type.Object({
    name: personName,
    email: Type.Optional(nullable(email)),
    phone_number: Type.Optional(nullable(phoneNumber)),
    password: Type.Optional(password),
    role: Type.Optional(nameOf(['owner', 'dealer'])),
  }),
});

const changeBody = Type.Object({
  name: Type.Optional(personName),
  timezone: Type.Optional(timezone),
  ...place,
  status: Type.Optional(nameOf(accountStatuses)),
});

const found = (account: Account | null) => {
  if (account === null) throw new AppError('not_found', 'There is no such account.');
  return { data: shownAccount(account) };
};

export const accountRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/accounts',
    operationId: 'openAccount',
    summary: 'Open the account of a customer or a sub-dealer; without `password` the owner is invited',
    tags,
    access,
    isIdempotent: true,
    body: openBody,
    response: oneOf(openedAccountSchema),
    otherSuccesses: { 201: 'Created; `Location` is the path of the account.' },
    errors: { 409: 'The e-mail or phone number is taken, or too many dealers stand above one another.' },
    handle: async ({ body, context }) => {
      const { account, user } = await openCustomerAccount(deps, callerOf(context), body);
      const invited: { invitation?: Invitation } =
        user.passwordHash === null ? { invitation: await sendInvitation(deps, user) } : {};
      const data = { ...shownAccount(account), ...invited };
      return new Reply(201, { data }, { Location: `/api/accounts/${account._id}` });
    },
  }),
  platformRoute({
    method: 'post',
    path: '/account/test-mail',
    operationId: 'sendTestMail',
    summary: 'Send a test mail to the own address',
    description: 'Tried once, at once. Ten an hour for each account.',
    tags,
    access: { permission: 'administration' },
    response: oneOf(testMailSchema),
    errors: { 409: 'The caller has no e-mail address.' },
    handle: async ({ context }) => ({ data: await sendTestMail(deps, callerOf(context), context) }),
  }),
  platformRoute({
    method: 'get',
    path: '/accounts',
    operationId: 'listAccounts',
    summary: 'The accounts below a dealer; all for the operator',
    tags,
    access,
    query: Type.Object({
      ...pagingQuery,
      sort: sortParameter(['id', 'name']),
      query: Type.Optional(Type.String({ maxLength: 100, description: 'Part of a name, city or country.' })),
      status: Type.Optional(nameOf(accountStatuses)),
    }),
    response: pageOf(accountSchema),
    handle: async ({ query, context }) => {
      const paging = readPaging(query);
      const where = {
        ...matching(query.query, ['name', 'city', 'country']),
        ...(query.status === undefined ? {} : { status: query.status }),
      };
      const part = { where, sorting: readSorting(query.sort), paging };
      const { items, total } = await listBelow(deps.records, callerOf(context), part);
      return pageEnvelope({ items: items.map(shownAccount), total }, paging);
    },
  }),
  platformRoute({
    method: 'get',
    path: '/accounts/:id',
    operationId: 'getAccount',
    summary: 'The own account, or one below',
    tags,
    params: idParams,
    response: oneOf(accountSchema),
    handle: async ({ params, context }) => found(await visibleAccount(deps.records, callerOf(context), params.id)),
  }),
  platformRoute({
    method: 'put',
    path: '/accounts/:id',
    operationId: 'updateAccount',
    summary: 'Change the own account, or one below; from above, suspend it or let it in again',
    tags,
    access: { permission: 'self' },
    params: idParams,
    body: changeBody,
    response: oneOf(accountSchema),
    errors: otherVersion,
    handle: async ({ params, body, context }) =>
      found(await editAccount(deps, callerOf(context), params.id, body, expectedVersion(context))),
  }),
  platformRoute({
    method: 'delete',
    path: '/accounts/:id',
    operationId: 'deleteAccount',
    summary: 'Delete the own account',
    description:
      'Sessions, API keys and share links end at once; vehicles go, and their terminals are free. Personal fields are removed within 30 days. There is no way back.',
    tags,
    access: { permission: 'accountDeletion' },
    params: idParams,
    body: Type.Object({ confirm: nameOf(['DELETE']) }),
    response: oneOf(accountSchema),
    errors: { 409: 'There are accounts below this one.', ...otherVersion },
    handle: async ({ params, context }) =>
      found(await deleteAccount(deps, callerOf(context), params.id, expectedVersion(context))),
  }),
];
