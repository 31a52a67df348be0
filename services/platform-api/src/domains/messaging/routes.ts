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
    'Accepts JSON or a form that the provider has signed, or both platform headers with a key of the scope `ingest`. Replies in the format of the provider: TwiML for Twilio; for calls, XML for Plivo and an NCCO for Vonage.',
  access: { credentials: 'either', permission: 'fleet', scope: 'ingest' },
  body: anyBody,
  bodyTypes: ['application/json', 'application/x-www-form-urlencoded'],
  readBody: async (bytes: Buffer, context: RequestContext) => (await parseJsonOrForm(bytes, context)) ?? {},
  contentType: ['application/json', 'text/xml'],
} as const;

const sendXml = ({ response }: RequestContext, xml: string): void =>
  void response.status(200).type('text/xml').send(xml);

/** Replies to a call in the format that its provider executes. */
function replyToCall(
  { config }: Pick<Deps, 'config'>,
  provider: Provider,
  reply: VoiceReply,
  context: RequestContext,
): unknown {
  // The provider sends the rest of the call to the URL of this request.
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
    summary: 'Receive text messages and their status',
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
    summary: 'Reply to speech in a call',
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
    summary: 'List messages and calls',
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
