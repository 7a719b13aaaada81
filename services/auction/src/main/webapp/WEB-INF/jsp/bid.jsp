<%@ page contentType="text/html; charset=UTF-8" session="false" trimDirectiveWhitespaces="true" %>
<%@ taglib prefix="c" uri="jakarta.tags.core" %>
<%@ taglib prefix="site" tagdir="/WEB-INF/tags" %>
<site:page title="Place your bid">
<c:if test="${not empty outbid}">
<p class="notice" role="alert">Your bid of ${outbid.shown()} was not placed: the highest bid is now ${item.price().shown()}.</p>
</c:if>
<site:summary item="${item}"/>
<form method="post" action="/items/${item.id()}/bids">
<input type="hidden" name="auth" value="<c:out value="${auth}"/>">
<label>Your bid <input type="number" name="bid" step="0.01" min="${item.minimumBid().plain()}" value="${item.minimumBid().plain()}" required></label>
<label>Your limit <input type="number" name="max_bid" step="0.01" min="${item.minimumBid().plain()}" value="${item.minimumBid().plain()}" required></label>
<label>Quantity <input type="number" name="quantity" min="1" max="${item.quantity()}" value="1" required></label>
<button type="submit">Place the bid</button>
</form>
<p>You bid as <c:out value="${person.nickname()}"/>. A bid is binding. Before you decide, look at
<a href="/items/${item.id()}/bids">the bids so far</a> or <a href="/users/${item.seller()}">the seller</a>.</p>
</site:page>
