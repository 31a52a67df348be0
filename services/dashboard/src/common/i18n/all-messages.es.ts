import type { Messages } from './i18n.ts';

/** All messages in Spanish, by path. */
export const messages = import.meta.glob<Messages>('/src/**/messages/es.json', { import: 'default', eager: true });
