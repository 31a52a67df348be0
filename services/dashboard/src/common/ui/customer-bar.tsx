import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useCustomer, useMe, useSession } from '../session/session-context.ts';

/** Says whose account the page shows, while that is not the user's own. */
export function CustomerBar() {
  const { t } = useTranslation();
  const session = useSession();
  const customer = useCustomer();
  const { role } = useMe();
  if (customer === null) return null;
  return (
    <div className="customer-bar" role="status">
      <span>{t(role === 'dealer' ? 'customer.readOnly' : 'customer.title', { name: customer.name })}</span>
      <Button size="compact-sm" variant="default" onClick={() => session.leaveCustomer()}>
        {t('customer.leave')}
      </Button>
    </div>
  );
}
