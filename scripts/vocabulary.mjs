// The words that this repository does not use, with what to write in their place. docs/glossary.md explains the terms; scripts/check-vocabulary.mjs checks them.

/** Words that no identifier contains: a word is a part of a camelCase name. */
export const identifierWords = {
  anew: 'again',
  announce: 'publish',
  announcement: 'event',
  answer: 'response',
  answered: 'responded',
  answers: 'responses',
  ask: 'request or send',
  asked: 'requested',
  asker: 'client or requester',
  asking: 'requesting',
  asks: 'requests',
  behind: 'after',
  forget: 'delete, evict, invalidate or deregister',
  forgets: 'deletes or evicts',
  forgotten: 'deleted or evicted',
  gentle: 'throttled',
  gently: 'throttled',
  hear: 'receive or subscribe',
  heard: 'received',
  hears: 'receives',
  keeper: 'the noun of what it does',
  maker: 'builder or converter',
  meanwhile: 'concurrent',
  nobodys: 'dummy',
  patience: 'timeout',
  shown: 'response',
  tell: 'publish, notify, emit or report',
  teller: 'publisher',
  telling: 'publishing',
  tells: 'publishes',
  told: 'published or notified',
  untold: 'unpublished or pending',
  whereabouts: 'location',
  wish: 'preference or option',
  wishes: 'preferences or options',
};

/** Phrases that no comment, test title or document contains. */
export const phrases = [
  { pattern: /\banew\b/i, use: 'again' },
  { pattern: /\bwho(?:so)?ever\b/i, use: 'the caller, the client, the owner' },
  { pattern: /\bof before\b/i, use: 'previous, earlier' },
  { pattern: /\bcan not\b/i, use: 'cannot' },
  { pattern: /\bfor ever\b/i, use: 'forever' },
  { pattern: /\bmeanwhile\b/i, use: 'concurrently, while' },
  { pattern: /\bin the place of\b/i, use: 'instead of' },
  { pattern: /\bso many\b/i, use: 'the number, a limit' },
  { pattern: /\b(?:tell|tells|told|telling|untold)\b/i, use: 'publish, notify, report, return' },
  { pattern: /\b(?:is|are|was|were|be|been) (?:heard|shown) of\b/i, use: 'received, listed' },
  { pattern: /\blet in\b/i, use: 'admitted, active' },
  { pattern: /\bnobody\b/i, use: 'no client, no user' },
  { pattern: /\bwhereabouts\b/i, use: 'location' },
];

/**
 * Fields that contain such a word and stay: those of the standard, of messages between services of different versions,
 * and of stored documents. Variables, functions and types have no such names.
 */
export const allowedFields = [
  // Outcome of a device command, on the bus and in Redis.
  {
    names: ['answer'],
    files: /^(?:libs\/bus|services\/(?:device-api|jt1078-media|jt808-gateway|upload-ftp)|test-e2e)\//,
  },
  {
    names: ['answer'],
    files: /^services\/platform-api\/src\/domains\/(?:captures|geofences|notifications|partners|vehicles)\//,
  },
  { names: ['answer'], files: /^services\/dashboard\/src\/scenes\/vehicle\/commands\// },
  // First responses by idempotency key, and indexes, in MongoDB.
  { names: ['answer', 'isUntold'], files: /^services\/platform-api\/src\/(?:http-api|store)\// },
  // Reply of `notifyWebhookOwner`, on the bus.
  { names: ['told'], files: /^(?:libs\/bus|services\/(?:webhook-dispatcher|platform-api\/src\/domains\/webhooks))\// },
  // Question to the driver (0x8302) and its answer (0x0302), in the standard's words.
  { names: ['answers', 'answerId'], files: /^libs\/(?:jt808|terminal-simulator)\// },
  // Records of commands and of storage usage in MongoDB; `answer` is also a field of the Platform API.
  { names: ['answer', 'isUntold', 'isTold'], files: /^services\/platform-api\/src\/domains\/(?:commands|media)\// },
  // Last position of a terminal in Redis.
  { names: ['heardAtMs'], files: /^services\/platform-api\// },
  // Outcome of a device command; requests for attachments in MongoDB.
  { names: ['answer', 'asked'], files: /^services\/platform-api\/src\/(?:event-consumers|testing)\// },
  // Records of uploads and media files in MongoDB.
  { names: ['askedImei', 'shownImei', 'toldAtMs'], files: /./ },
];
