/** Settings of the records that are created at the first start. */
export const bootstrapSettings = {
  BOOTSTRAP_OWNER_EMAIL: {
    type: 'string',
    optional: true,
    pattern: '^[^@\\s]+@[^@\\s]+$',
    description: 'e-mail of the first owner, who is created if absent',
  },
  BOOTSTRAP_OWNER_PASSWORD: {
    type: 'string',
    optional: true,
    secret: true,
    minLength: 10,
    description: 'password of the first owner; later changes of this setting have no effect',
  },
  BOOTSTRAP_API_KEY: {
    type: 'string',
    optional: true,
    secret: true,
    pattern: '^fk_[A-Za-z0-9_-]{43}$',
    description: "API key of the first owner's account, created if absent; only its hash is stored",
  },
  BOOTSTRAP_DEMO_TERMINALS: {
    type: 'string',
    default: '',
    pattern: '^(\\d{12,20}(,\\d{12,20})*)?$',
    description:
      "terminal numbers, separated by commas: a demo fleet with them is created once in the first owner's account",
  },
} as const;
