import { pageEnvelope, pageOf, type RequestContext, readPaging } from '@fleet/service-kit';
import { callerOf } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../deps.ts';
import { readJsonOrForm } from '../../http/forms.ts';
import { silentTwiml, spokenTwiml } from './rules.ts';
import { anyBody, chatMessageShown, listChatQuery, smsAnswer, smsQuery, voiceAnswer, voiceQuery } from './schema.ts';
import { shownMessage } from './shown.ts';
import { listMessages, receiveCall, receiveSms, requireSignature } from './use-cases.ts';

const tags = ['Chat log'];

const receiver = {
  method: 'post',
  tags,
  description:
    'Takes JSON or a form with the signature of the provider over it, or both platform headers with a key of the scope `ingest`. Twilio is answered in TwiML.',
  access: { credentials: 'either', permission: 'fleet', scope: 'ingest' },
  body: anyBody,
  bodyTypes: ['application/json', 'application/x-www-form-urlencoded'],
  readBody: async (bytes: Buffer, context: RequestContext) => (await readJsonOrForm(bytes, context)) ?? {},
  contentType: ['application/json', 'text/xml'],
} as const;

/** Twilio reads TwiML alone. */
const sendTwiml = ({ response }: RequestContext, twiml: string): void =>
  void response.status(200).type('text/xml').send(twiml);

export const chatLogRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    ...receiver,
    path: '/chat-log/sms-provider-webhook',
    operationId: 'receiveSms',
    summary: 'Text messages of a provider, and the status of those that went out',
    query: smsQuery,
    response: smsAnswer,
    handle: async ({ query: { provider = 'generic' }, body, context }) => {
      await requireSignature(deps, provider, context);
      await receiveSms(deps, provider, body, context);
      return provider === 'twilio' ? sendTwiml(context, silentTwiml) : { ok: true };
    },
  }),
  platformRoute({
    ...receiver,
    path: '/chat-log/voice-assistant-webhook',
    operationId: 'receiveVoice',
    summary: 'What is said in a call; the answer is to be said',
    query: voiceQuery,
    response: voiceAnswer,
    handle: async ({ query: { provider = 'generic' }, body, context }) => {
      await requireSignature(deps, provider, context);
      const answer = await receiveCall(deps, provider, body, context);
      return provider === 'twilio' ? sendTwiml(context, spokenTwiml(answer)) : answer;
    },
  }),
  platformRoute({
    method: 'get',
    path: '/chat-log',
    operationId: 'listChatLog',
    summary: 'Messages and calls of the account',
    tags,
    access: { permission: 'fleet', scope: 'read' },
    query: listChatQuery,
    response: pageOf(chatMessageShown),
    handle: async ({ query, context }) => {
      const paging = readPaging(query);
      const { items, total } = await listMessages(deps, callerOf(context), query, paging);
      return pageEnvelope({ items: items.map(shownMessage), total }, paging);
    },
  }),
];
