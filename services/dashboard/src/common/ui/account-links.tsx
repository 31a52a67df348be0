import { IconBuilding, IconLifebuoy, IconMessage } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useCan } from '../session/session-context.ts';
import { NavLink } from './nav-link.tsx';

/** Shows links to the account, its messages and the support, for users who may open them. */
export function AccountLinks({ isSecondary = true }: { isSecondary?: boolean }) {
  const { t } = useTranslation();
  const can = useCan();
  const size = 20;
  return (
    <>
      {can('fleet') ? (
        <NavLink
          to="/messages"
          isSecondary={isSecondary}
          icon={<IconMessage size={size} aria-hidden />}
          label={t('nav.messages')}
        />
      ) : null}
      <NavLink
        to="/support"
        isSecondary={isSecondary}
        icon={<IconLifebuoy size={size} aria-hidden />}
        label={t('nav.support')}
      />
      {can('administration') || can('billing') || can('accounts') ? (
        <NavLink
          to="/account"
          isSecondary={isSecondary}
          icon={<IconBuilding size={size} aria-hidden />}
          label={t('nav.account')}
        />
      ) : null}
    </>
  );
}
