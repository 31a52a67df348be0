import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { maxTextBytes, sendText as sendTextToDevice } from '../use-cases/send-text.ts';
import { commandRouteDefaults, createCommandContext } from './command-context.ts';
import { deviceQuery } from './parameters.ts';
import { bodyErrors, terminalGeneralResponse, toGeneralResponseBody } from './responses.ts';

const flagSchema = (description: string, example = false) => Type.Boolean({ description, examples: [example] });

const body = Type.Object(
  {
    text: Type.String({
      minLength: 1,
      maxLength: maxTextBytes,
      description: `At most ${maxTextBytes} bytes in GBK: an ASCII character takes 1 byte, any other 2. Characters that GBK lacks are rejected.`,
      examples: ['Please call the dispatcher.'],
    }),
    text_type: Type.Optional(
      Type.Unsafe<'Notification' | 'Service' | null>({
        type: ['string', 'null'],
        enum: ['Notification', 'Service', null],
        description: 'Absent or null for none. Only devices of edition 2019 receive it.',
      }),
    ),
    options: Type.Optional(
      Type.Object(
        {
          emergency: flagSchema('Flag the message as an emergency.'),
          display_by_terminal: flagSchema("Show it on the device's own display.", true),
          tts: flagSchema('Read it aloud (text-to-speech).', true),
          display_by_advertising_screen: flagSchema('Show it on an attached advertising screen.'),
          central_navigation_info: flagSchema('Mark it as navigation information from the control centre.'),
        },
        {
          title: 'SendTextOptions',
          description: 'Presentation. Default: an emergency message.',
        },
      ),
    ),
  },
  { title: 'SendText' },
);

export const sendText = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    method: 'post',
    path: '/send-text',
    operationId: 'sendText',
    summary: 'Send a text to a device',
    description: 'Success means that the device accepted the message, not that a driver has read it.',
    tags: ['Utilities'],
    query: deviceQuery,
    body,
    response: terminalGeneralResponse,
    errors: bodyErrors,
    handle: async ({ query, body: { text, text_type = null, options }, context }) => {
      const textOptions =
        options === undefined
          ? null
          : {
              emergency: options.emergency,
              displayByTerminal: options.display_by_terminal,
              tts: options.tts,
              displayByAdvertisingScreen: options.display_by_advertising_screen,
              centralNavigationInfo: options.central_navigation_info,
            };
      const request = { imei: canonicalImei(query.imei), text, textType: text_type, options: textOptions };
      return toGeneralResponseBody(await sendTextToDevice(deps, request, createCommandContext(deps, context)));
    },
  });
