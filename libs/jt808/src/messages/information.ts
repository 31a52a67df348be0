import { countedList, inEditions, listToEnd, struct, text, text8, text16, u8, u16 } from '../fields/index.ts';
import { defineMessage } from '../message.ts';

/**
 * 0x8300: text to the driver, at most 1024 bytes of GBK. 2019 requires the text_type byte: without it, the terminal
 * drops the first letter.
 */
export const textMessage = defineMessage({
  id: 0x8300,
  name: 'textMessage',
  from: 'platform',
  reference: 'JT/T 808-2013 tables 36 and 37',
  responseIds: [0x0001],
  body: {
    flags: u8(), // 2011, 2013: bit 0 emergency; 2019 bits 0-1: 01 service, 10 emergency, 11 notification; 2 display, 3 TTS, 4 screen
    textType: inEditions(['2019'], u8()), // 1 notification, 2 service
    text: text(),
  },
});

/** 0x8301: events that the driver can report. */
export const setEvents = defineMessage({
  id: 0x8301,
  name: 'setEvents',
  from: 'platform',
  reference: 'JT/T 808-2013 tables 38 and 39',
  responseIds: [0x0001],
  body: {
    setType: u8(), // 0 clear all and nothing follows, 1 replace, 2 add, 3 change, 4 delete
    events: countedList(u8(), struct({ id: u8(), content: text8() }), {
      packageCount2011: u8(),
      emptyWhen: ['setType', 0],
    }),
  },
});

/** 0x0301: event reported by the driver. */
export const eventReport = defineMessage({
  id: 0x0301,
  name: 'eventReport',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 40',
  responseIds: [0x8001],
  body: { eventId: u8() },
});

/** 0x8302: question with selectable answers. */
export const sendQuestion = defineMessage({
  id: 0x8302,
  name: 'askQuestion',
  from: 'platform',
  reference: 'JT/T 808-2013 tables 41 to 43',
  responseIds: [0x0302, 0x0001],
  body: {
    flags: u8(), // bits 0 emergency, 3 TTS, 4 advertising screen
    question: text8(),
    answers: listToEnd(struct({ id: u8(), content: text16() })),
  },
});

/** 0x0302: the driver's answer to a question. */
export const questionResponse = defineMessage({
  id: 0x0302,
  name: 'questionAnswer',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 44',
  responseIds: [0x8001],
  body: { replySerial: u16(), answerId: u8() },
});

/** 0x8303: menu of information on demand. */
export const setInfoMenu = defineMessage({
  id: 0x8303,
  name: 'setInfoMenu',
  from: 'platform',
  reference: 'JT/T 808-2013 tables 45 and 46',
  responseIds: [0x0001],
  body: {
    setType: u8(), // 0 clear all, 1 replace, 2 add, 3 change
    items: countedList(u8(), struct({ type: u8(), name: text16() }), {
      packageCount2011: u8(),
      emptyWhen: ['setType', 0],
    }),
  },
});

/** 0x0303: information subscribed or cancelled by the driver. */
export const infoSubscription = defineMessage({
  id: 0x0303,
  name: 'infoSubscription',
  from: 'terminal',
  reference: 'JT/T 808-2013 table 47',
  responseIds: [0x8001],
  body: { infoType: u8(), flag: u8() }, // flag 0 cancel, 1 subscribe
});

/** 0x8304: subscribed information. */
export const infoService = defineMessage({
  id: 0x8304,
  name: 'infoService',
  from: 'platform',
  reference: 'JT/T 808-2013 table 48',
  responseIds: [0x0001],
  body: {
    infoType: u8(),
    totalLength: inEditions(['2011'], u16()), // 2011: length over all packages, then the length of this one
    content: text16(),
  },
});

/** 0x8400: the terminal calls a phone number. */
export const phoneCallback = defineMessage({
  id: 0x8400,
  name: 'callBack',
  from: 'platform',
  reference: 'JT/T 808-2013 table 49',
  responseIds: [0x0001],
  body: { flag: u8(), phoneNumber: text() }, // flag 0 call, 1 listen in; number up to 20 bytes
});

/** 0x8401: phone book. */
export const setPhoneBook = defineMessage({
  id: 0x8401,
  name: 'setPhoneBook',
  from: 'platform',
  reference: 'JT/T 808-2013 tables 50 and 51',
  responseIds: [0x0001],
  body: {
    setType: u8(), // 0 clear, 1 replace, 2 add, 3 change
    contacts: countedList(u8(), struct({ flag: u8(), phoneNumber: text8(), name: text8() }), {
      packageCount2011: u8(),
      emptyWhen: ['setType', 0],
    }),
  },
});
