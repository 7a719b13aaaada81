<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="Confirm your purchase">
<site:summary item="${item}"/>
<form method="post" action="/items/${item.id()}/purchases">
<input type="hidden" name="auth" value="<c:out value="${auth}"/>">
<p>One costs ${item.buyNow().shown()}; ${item.quantity()} left.</p>
<label>Quantity <input type="number" name="quantity" min="1" max="${item.quantity()}" value="1" required></label>
<button type="submit">Buy now</button>
</form>
<p>You buy as <c:out value="${person.nickname()}"/>. The purchase is binding.</p>
</site:page>
