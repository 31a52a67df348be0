import type { Messages } from './i18n.ts';

/** All messages in English, by path. */
export const messages = import.meta.glob<Messages>('/src/**/messages/en.json', { import: 'default', eager: true });
