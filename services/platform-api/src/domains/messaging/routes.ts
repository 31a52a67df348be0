import { pageResponse, pageSchema, parsePagination, type RequestContext } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { parseJsonOrForm } from '../../platform/forms.ts';
import { toChatMessageResponse } from './responses.ts';
import {
  anyBody,
  chatMessageResponse,
  listChatQuery,
  type Provider,
  smsQuery,
  smsResponse,
  voiceQuery,
  voiceResponse,
} from './schema.ts';
import { assertSigned, listMessages, receiveCall, receiveSms } from './use-cases.ts';
import { emptyTwiml, toNcco, toPlivoXml, toTwiml, type VoiceReply } from './voice-replies.ts';

const tags = ['Chat log'];

const webhookRoute = {
  method: 'post',
  tags,
  description:
    'Takes JSON or a form with the signature of the provider over it, or both platform headers with a key of the scope `ingest`. Replies are in the format of the provider: TwiML for Twilio; in calls XML for Plivo and an NCCO for Vonage.',
  access: { credentials: 'either', permission: 'fleet', scope: 'ingest' },
  body: anyBody,
  bodyTypes: ['application/json', 'application/x-www-form-urlencoded'],
  readBody: async (bytes: Buffer, context: RequestContext) => (await parseJsonOrForm(bytes, context)) ?? {},
  contentType: ['application/json', 'text/xml'],
} as const;

const sendXml = ({ response }: RequestContext, xml: string): void =>
  void response.status(200).type('text/xml').send(xml);

/** Replies to a call in the format that its provider carries out. */
function replyToCall(
  { config }: Pick<Deps, 'config'>,
  provider: Provider,
  reply: VoiceReply,
  context: RequestContext,
): unknown {
  // The rest of the talk comes to the address of this request.
  const url = config.PUBLIC_BASE_URL + context.request.originalUrl;
  switch (provider) {
    case 'twilio':
      return sendXml(context, toTwiml(reply));
    case 'plivo':
      return sendXml(context, toPlivoXml(reply, url));
    case 'vonage':
      return toNcco(reply, url);
    case 'vapi':
    case 'generic':
      return reply;
  }
}

export const messagingRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    ...webhookRoute,
    path: '/chat-log/sms-provider-webhook',
    operationId: 'receiveSms',
    summary: 'Text messages of a provider, and the status of those that went out',
    query: smsQuery,
    response: smsResponse,
    handle: async ({ query: { provider = 'generic' }, body, context }) => {
      await assertSigned(deps, provider, context);
      await receiveSms(deps, provider, body, context);
      return provider === 'twilio' ? sendXml(context, emptyTwiml) : { ok: true };
    },
  }),
  platformRoute({
    ...webhookRoute,
    path: '/chat-log/voice-assistant-webhook',
    operationId: 'receiveVoice',
    summary: 'What is said in a call; the answer is to be said',
    query: voiceQuery,
    response: voiceResponse,
    handle: async ({ query: { provider = 'generic' }, body, context }) => {
      await assertSigned(deps, provider, context);
      return replyToCall(deps, provider, await receiveCall(deps, provider, body, context), context);
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
    response: pageSchema(chatMessageResponse),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const { items, total } = await listMessages(deps, getCaller(context), query, paging);
      return pageResponse({ items: items.map(toChatMessageResponse), total }, paging);
    },
  }),
];
