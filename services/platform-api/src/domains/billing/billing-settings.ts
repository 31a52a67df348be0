/** Settings of subscriptions and payment gateways. */
export const billingSettings = {
  ENFORCE_SUBSCRIPTIONS: {
    type: 'boolean',
    default: false,
    description: 'responds with 402 to commands, shares and links for a vehicle without an active subscription',
  },
  PAYMENT_GATEWAY: {
    type: 'string',
    default: 'offline',
    enum: ['stripe', 'razorpay', 'offline'],
    description: 'payment gateway for orders; offline: an admin marks orders paid',
  },
  PLANS_FILE: {
    type: 'string',
    optional: true,
    description: 'JSON file of plans, prices and coupons; the service includes an example',
  },
  BILLING_RETURN_URLS: {
    type: 'string',
    default: '',
    description:
      'URLs, separated by commas, in addition to PUBLIC_BASE_URL, below which the billing portal may redirect',
  },
  STRIPE_SECRET_KEY: { type: 'string', optional: true, secret: true, description: 'secret key of the Stripe account' },
  STRIPE_PUBLISHABLE_KEY: {
    type: 'string',
    optional: true,
    description: 'publishable key of that account, sent to clients',
  },
  STRIPE_WEBHOOK_SECRET: {
    type: 'string',
    optional: true,
    secret: true,
    description: 'secret of the webhook for /api/subscription/gateway-webhook/stripe',
  },
  STRIPE_URL: {
    type: 'string',
    default: 'https://api.stripe.com',
    pattern: '^https?://[^\\s/]+$',
    description: "base URL of Stripe's API",
  },
  RAZORPAY_KEY_ID: { type: 'string', optional: true, description: 'key id of the Razorpay account, sent to clients' },
  RAZORPAY_KEY_SECRET: { type: 'string', optional: true, secret: true, description: 'secret of that key' },
  RAZORPAY_WEBHOOK_SECRET: {
    type: 'string',
    optional: true,
    secret: true,
    description: 'secret of the webhook for /api/subscription/gateway-webhook/razorpay',
  },
  RAZORPAY_URL: {
    type: 'string',
    default: 'https://api.razorpay.com',
    pattern: '^https?://[^\\s/]+$',
    description: "base URL of Razorpay's API",
  },
} as const;
