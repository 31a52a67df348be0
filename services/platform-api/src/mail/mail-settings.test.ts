import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../assembly/config.ts';
import { readSmtpServer } from './mail-settings.ts';

const from = { MAIL_FROM: 'Fleet <fleet@example.com>' };
const read = (env: Record<string, string>) => readSmtpServer(loadConfig({ ...from, ...env }));

describe('settings of the mail server', () => {
  it.each<[Record<string, string>, object]>([
    [
      { SMTP_URL: 'smtp://ann%40x:p%2Fw@mail.example.com' },
      { host: 'mail.example.com', port: 587, isImplicitTls: false, credentials: { user: 'ann@x', pass: 'p/w' } },
    ],
    [
      { SMTP_URL: 'smtps://mail.example.com' },
      { host: 'mail.example.com', port: 465, isImplicitTls: true, credentials: null },
    ],
    [{ SMTP_URL: 'smtp://[::1]:2525' }, { host: '::1', port: 2525, requiresTls: false }],
    [
      { SMTP_HOST: 'mail.example.com', SMTP_USER: 'ann', SMTP_PASSWORD: 'secret' },
      { port: 587, isImplicitTls: false, requiresTls: true, credentials: { user: 'ann', pass: 'secret' } },
    ],
    [
      { SMTP_HOST: 'mail.example.com', SMTP_PORT: '465' },
      { port: 465, isImplicitTls: true },
    ],
  ])('reads %j', (env, expected) => {
    expect(read(env)).toMatchObject(expected);
  });

  it.each([
    ['mail.example.com', true],
    ['10.0.0.5', true],
    ['127.0.0.1.example.com', true],
    ['localhost', false],
    ['127.0.0.1', false],
    ['127.8.9.1', false],
    ['::1', false],
  ])('requires STARTTLS of %s: %s', (host, expected) => {
    expect(read({ SMTP_HOST: host })).toMatchObject({ requiresTls: expected });
    expect(read({ SMTP_HOST: host, SMTP_ALLOW_PLAINTEXT: 'true' })).toMatchObject({ requiresTls: false });
  });

  it('reads no mail server if no setting is given', () => {
    expect(readSmtpServer(loadConfig({}))).toBeNull();
  });

  it.each<[Record<string, string>, RegExp]>([
    [{ SMTP_URL: 'smtp://a.example', SMTP_HOST: 'a.example' }, /not both/],
    [{ SMTP_URL: 'smtp://a.example', MAIL_URL: 'https://b.example' }, /not both/],
    [{ SMTP_HOST: 'a.example', SMTP_USER: 'ann' }, /must be set together/],
    [{ SMTP_HOST: 'a.example', MAIL_FROM: '' }, /MAIL_FROM is required/],
    [{ SMTP_HOST: 'a.example', MAIL_FROM: 'nobody' }, /MAIL_FROM/],
    [{ SMTP_HOST: 'a.example', SMTP_CA_FILE: '/no/such/file' }, /SMTP_CA_FILE cannot be read/],
    [{ SMTP_URL: 'http://a.example' }, /SMTP_URL/],
  ])('rejects %j at start', (env, message) => {
    expect(() => loadConfig({ ...from, ...env })).toThrow(message);
  });

  it('includes no secret in an error', () => {
    expect(() => read({ SMTP_URL: 'smtp://ann:pass%word-1@a.example' })).toThrow(/^(?!.*word-1)/s);
  });
});
