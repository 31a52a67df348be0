import type { Messages } from './i18n.ts';

/** All messages in Chinese, by path. */
export const messages = import.meta.glob<Messages>('/src/**/messages/zh.json', { import: 'default', eager: true });
